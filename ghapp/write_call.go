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

// object makes a git object. Nobody sees it until a branch names it, so making it
// twice does no harm. name finds an object that an earlier try of the effect made.
func (t *writeTry) object(
	ctx context.Context, name, kind string, do func(context.Context, *github.Client) (string, error),
) (string, error) {
	if sha := t.w.remembered(t.e.Key).objects[name]; sha != "" {
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
	t.w.remember(t.e.Key, func(m *effectMemory) {
		if m.objects == nil {
			m.objects = map[string]string{}
		}
		m.objects[name] = sha
	})
	return sha, nil
}

// idempotent makes a write that may be repeated after an unknown outcome: GitHub
// itself keeps what it makes single.
func (t *writeTry) idempotent(ctx context.Context, action string, do request) error {
	return t.limited(ctx, classOf(t.e), action, !t.doubleChecking, do)
}

// nonIdempotent makes a write whose repetition would make a second thing. Until a
// look-up its outcome counts as unknown, except after a clear refusal.
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

// limited waits for the write rate and makes the call if the claim lasts long enough.
// It records a visible call first.
func (t *writeTry) limited(ctx context.Context, class class, action string, visible bool, do request) error {
	cfg, app := t.w.cfg, t.w.app
	last := t.until.Add(-cfg.Timeout - cfg.Timeout/4) // a call begun later could outlive the claim
	if err := t.waitTurn(ctx, class, last); err != nil {
		return err
	}
	if visible {
		sent := app.now()
		if err := t.w.store.SendingEffect(ctx, t.e.Key, t.e.Token); err != nil {
			return fmt.Errorf("record the write: %w", err)
		}
		last = earlier(last, sent.Add(cfg.ListLag-2*cfg.Timeout)) // or end after the time that lists may lag
	}
	if app.now().After(last) {
		return errTooLate
	}
	t.queue.limiter.count(app.now())
	// A shutdown does not cut the call off: its outcome would be unknown.
	return app.do(context.WithoutCancel(ctx), writeScope(t.e.Repo), action, do)
}

// waitTurn waits until the write rate allows the call, unless that is too late.
func (t *writeTry) waitTurn(ctx context.Context, class class, last time.Time) error {
	for {
		now := t.w.app.now()
		at := t.queue.limiter.earliest(now, class)
		if at.After(last) {
			if at.After(now) {
				return &retryLaterError{after: at.Sub(now), reason: errTooLate.Error()}
			}
			return errTooLate
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
