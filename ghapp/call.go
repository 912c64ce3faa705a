package ghapp

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-github/v66/github"
)

// read asks GitHub something.
func (a *attempt) read(ctx context.Context, action string, do request) error {
	return a.w.app.do(ctx, writeScope(a.e.Repo), action, do)
}

// object makes a git object: nobody sees it until a branch names it, so it may
// be made twice, but need not be: name is the same for the same object of the effect.
func (a *attempt) object(ctx context.Context, name, kind string, do func(context.Context, *github.Client) (string, error)) (string, error) {
	if sha := a.w.memory.object(a.e.Key, name); sha != "" {
		return sha, nil
	}
	var sha string
	err := a.paced(ctx, classObject, "make a "+kind, false, func(ctx context.Context, c *github.Client) (err error) {
		sha, err = do(ctx, c)
		return err
	})
	if err != nil {
		return "", err
	}
	if sha == "" {
		return "", malformed(kind)
	}
	a.w.memory.keep(a.e.Key, name, sha)
	return sha, nil
}

// keyed makes or changes something that GitHub itself keeps single, so that
// repeating it after an unknown outcome does no harm.
func (a *attempt) keyed(ctx context.Context, action string, do request) error {
	return a.paced(ctx, classOf(a.e), action, !a.verifying, do)
}

// create makes something that would be there twice if it were repeated. Until it
// is looked up, the outcome counts as unknown, except after a clear refusal.
func (a *attempt) create(ctx context.Context, action string, do request) error {
	called := false
	err := a.paced(ctx, classOf(a.e), action, true, func(ctx context.Context, c *github.Client) error {
		called, a.unknown, a.repeated = true, true, a.doubtful
		return do(ctx, c)
	})
	if called {
		a.called = a.w.app.now()
	}
	if err != nil && called && outcomeOf(err) != outcomeLost {
		a.unknown = false
	}
	return err
}

// paced waits for the installation's turn and makes the call if the claim lasts
// long enough. A visible call is recorded before it is made.
func (a *attempt) paced(ctx context.Context, class class, action string, visible bool, do request) error {
	cfg, app := a.w.cfg, a.w.app
	last := a.e.Until.Add(-cfg.Timeout - cfg.Timeout/4) // a call begun later could outlive the claim
	if err := a.await(ctx, class, last); err != nil {
		return err
	}
	if visible {
		sent := app.now()
		if err := a.w.store.SendingEffect(ctx, a.e.Key, a.e.Token, sent); err != nil {
			return fmt.Errorf("record the write: %w", err)
		}
		last = earlier(last, sent.Add(cfg.Settle-2*cfg.Timeout)) // or outlive the time lists have to settle
	}
	if app.now().After(last) {
		return &tooLateError{}
	}
	a.lane.pace.take(app.now())
	// A call is not cut off by a shutdown: its outcome would be unknown.
	return app.do(context.WithoutCancel(ctx), writeScope(a.e.Repo), action, do)
}

// await waits for the installation's turn, unless that comes later than the last
// moment for the call.
func (a *attempt) await(ctx context.Context, class class, last time.Time) error {
	for {
		now := a.w.app.now()
		at := a.lane.pace.ready(now, class)
		if at.After(last) {
			return &tooLateError{at: at}
		}
		if !at.After(now) {
			return context.Cause(ctx)
		}
		if class == classReact {
			if !sleep(ctx, at.Sub(now)) {
				return context.Cause(ctx)
			}
			continue
		}
		if !a.lane.pause(ctx, at.Sub(now)) {
			return context.Cause(ctx)
		}
		a.w.hear(ctx, a.lane)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
