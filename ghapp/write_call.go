package ghapp

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/clock"
)

// read asks GitHub something.
func (t *writeTry) read(ctx context.Context, action string, do request) error {
	return t.w.app.do(ctx, writeScope(t.e.Repo), action, do)
}

// object makes a git object: nobody sees it until a branch names it, so it may
// be made twice, but need not be: name is the same for the same object of the effect.
func (t *writeTry) object(ctx context.Context, name, kind string, do func(context.Context, *github.Client) (string, error)) (string, error) {
	if sha := t.w.memory.of(t.e.Key).objects[name]; sha != "" {
		return sha, nil
	}
	var sha string
	err := t.limited(ctx, classObject, "make a "+kind, false, func(ctx context.Context, c *github.Client) (err error) {
		sha, err = do(ctx, c)
		return err
	})
	if err != nil {
		return "", err
	}
	if sha == "" {
		return "", malformed(kind)
	}
	t.w.memory.update(t.e.Key, func(m *effectMemory) {
		if m.objects == nil {
			m.objects = map[string]string{}
		}
		m.objects[name] = sha
	})
	return sha, nil
}

// idempotent makes or changes something that GitHub itself keeps single, so that
// repeating it after an unknown outcome does no harm.
func (t *writeTry) idempotent(ctx context.Context, action string, do request) error {
	return t.limited(ctx, classOf(t.e), action, !t.doubleChecking, do)
}

// nonIdempotent makes something that would be there twice if it were repeated. Until it
// is looked up, the outcome counts as unknown, except after a clear refusal.
func (t *writeTry) nonIdempotent(ctx context.Context, action string, do request) error {
	called := false
	err := t.limited(ctx, classOf(t.e), action, true, func(ctx context.Context, c *github.Client) error {
		called, t.unknown, t.repeated = true, true, t.doubtful
		return do(ctx, c)
	})
	if called {
		t.called = t.w.app.now()
	}
	if err != nil && called && outcomeOf(err) != outcomeUnknown {
		t.unknown = false
	}
	return err
}

// limited waits for the installation's turn and makes the call if the claim lasts
// long enough. A visible call is recorded before it is made.
func (t *writeTry) limited(ctx context.Context, class class, action string, visible bool, do request) error {
	cfg, app := t.w.cfg, t.w.app
	last := t.e.Until.Add(-cfg.Timeout - cfg.Timeout/4) // a call begun later could outlive the claim
	if err := t.waitTurn(ctx, class, last); err != nil {
		return err
	}
	if visible {
		sent := app.now()
		if err := t.w.store.SendingEffect(ctx, t.e.Key, t.e.Token, sent); err != nil {
			return fmt.Errorf("record the write: %w", err)
		}
		last = earlier(last, sent.Add(cfg.ListLag-2*cfg.Timeout)) // or outlive the time lists have to settle
	}
	if app.now().After(last) {
		return &tooLateError{}
	}
	t.queue.limiter.count(app.now())
	// A call is not cut off by a shutdown: its outcome would be unknown.
	return app.do(context.WithoutCancel(ctx), writeScope(t.e.Repo), action, do)
}

// waitTurn waits for the installation's turn, unless that comes later than the last
// moment for the call.
func (t *writeTry) waitTurn(ctx context.Context, class class, last time.Time) error {
	for {
		now := t.w.app.now()
		at := t.queue.limiter.earliest(now, class)
		if at.After(last) {
			return &tooLateError{at: at}
		}
		if !at.After(now) {
			return context.Cause(ctx)
		}
		if class == classReaction {
			if err := clock.Sleep(ctx, at.Sub(now)); err != nil {
				return err
			}
			continue
		}
		if !t.queue.pause(ctx, at.Sub(now)) {
			return context.Cause(ctx)
		}
		t.w.writeReactions(ctx, t.queue)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
