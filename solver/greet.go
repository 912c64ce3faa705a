package solver

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// rightsHold is how long a look at somebody's rights is good for: who waited longer
// in the queue is looked up again at the start.
const rightsHold = time.Minute

// maxGreets is how many waiting solves are greeted at a time.
const maxGreets = 8

// greet looks up whether the actor may ask, and lets people see that the trigger was
// heard before anything slow begins. The API's token and this machine's user are the
// operator's own.
func (e *Engine) greet(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	if !s.Greeted.IsZero() && time.Since(s.Greeted) < rightsHold {
		return s, nil
	}
	if !s.Trigger.Kind.Operator() {
		role, write, err := e.Hub.Permission(ctx, s.Repo, s.Trigger.Actor)
		if err != nil {
			return s, fault.Outside{Err: err}
		}
		if !write {
			return s, fault.Refusal{Text: report.RefusedText(s.Trigger.Actor, role), Denied: true}
		}
	}
	if !s.Greeted.IsZero() {
		return s, nil
	}
	after, _, err := e.apply(ctx, solve.Change{Solve: s.ID, Token: s.Lease.Token, Event: solve.Greeted{}})
	if err != nil {
		return s, err
	}
	return after, nil
}

// greetWaiting greets the solves that found no worker, and tells them their places:
// somebody who asked is answered at once, however long the queue is.
func (e *Engine) greetWaiting(ctx, work context.Context) {
	live, err := e.Store.LiveSolves(ctx)
	fault.Log(ctx, err, "live solves not read")
	e.greetNew(work, live)
	e.tellPlaces(ctx, live)
}

func (e *Engine) greetNew(work context.Context, live []solve.Solve) {
	for _, s := range live {
		if s.State != solve.StateQueued || s.Lease.Node != "" || !s.Greeted.IsZero() || !s.CancelAt.IsZero() {
			continue
		}
		e.mu.Lock()
		_, known := e.greets[s.ID]
		full := len(e.greets) >= maxGreets
		e.mu.Unlock()
		if full {
			return
		}
		if known {
			continue
		}
		s.Lease.Token = 0 // nobody's: whoever claims it meanwhile changes nothing about who asked
		log := e.Log.With().Str(logkey.SolveID, string(s.ID)).Str(logkey.Repo, s.Repo.String()).Logger()
		start(e, log.WithContext(work), e.greets, s.ID, nil, func(ctx context.Context) { e.greetOne(ctx, s) })
	}
}

// greetOne ends a solve whose actor may not ask. What fails otherwise is left to
// the one who claims the solve.
func (e *Engine) greetOne(ctx context.Context, s solve.Solve) {
	_, err := e.greet(ctx, s)
	if errors.As(err, &fault.Refusal{}) {
		_, err = e.giveUp(ctx, s, err)
	}
	if err != nil && !fault.Stopping(ctx) && !fault.Decided(err) {
		e.Log.Warn().Err(err).Str(logkey.SolveID, string(s.ID)).Msg("solve not greeted yet")
	}
}
