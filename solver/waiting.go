package solver

import (
	"context"
	"errors"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// maxAuthorizing is how many waiting solves are authorized at a time.
const maxAuthorizing = 8

// lookAtWaiting authorizes the solves that found no worker, and tells them their positions:
// somebody who asked is answered at once, however long the queue is.
func (e *Engine) lookAtWaiting(ctx, work context.Context) {
	live, err := e.store.LiveSolves(ctx)
	fault.Log(ctx, err, "live solves not read")
	e.authorizeNew(work, live)
	e.reportPositions(ctx, live)
}

func (e *Engine) authorizeNew(work context.Context, live []solve.Solve) {
	for _, s := range live {
		if s.State != solve.StateQueued || s.Lease.Node != "" || !s.Greeted.IsZero() || !s.CancelAt.IsZero() {
			continue
		}
		e.mu.Lock()
		_, known := e.authorizing[s.ID]
		full := len(e.authorizing) >= maxAuthorizing
		e.mu.Unlock()
		if full {
			return
		}
		if known {
			continue
		}
		s.Lease.Token = 0 // nobody's: whoever claims it meanwhile changes nothing about who asked
		log := e.log.With().Str(logkey.SolveID, string(s.ID)).Str(logkey.Repo, s.Repo.String()).Logger()
		start(e, log.WithContext(work), e.authorizing, s.ID, nil, func(ctx context.Context) { e.authorizeOne(ctx, s) })
	}
}

// authorizeOne ends a solve whose actor may not ask. What fails otherwise is left to
// the one who claims the solve.
func (e *Engine) authorizeOne(ctx context.Context, s solve.Solve) {
	_, err := e.authorize(ctx, s)
	if errors.As(err, &fault.Refusal{}) {
		_, err = e.giveUp(ctx, s, err)
	}
	if err != nil && !fault.Stopping(ctx) && !fault.Decided(err) {
		e.log.Warn().Err(err).Str(logkey.SolveID, string(s.ID)).Msg("solve not authorized yet")
	}
}
