package solver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

const (
	// maxAuthorizing is how many waiting solves are authorized at a time.
	maxAuthorizing = 8
	// authorizePause is the time between two tries to authorize one waiting solve.
	authorizePause = time.Minute
)

// lookAtWaiting authorizes the solves that found no worker, and tells them their positions:
// somebody who asked is answered at once, however long the queue is.
func (e *Engine) lookAtWaiting(ctx, work context.Context) {
	live, err := e.store.LiveSolves(ctx)
	fault.Log(ctx, err, "live solves not read")
	e.authorizeNew(work, live)
	e.reportPositions(ctx, live)
}

func (e *Engine) authorizeNew(work context.Context, live []solve.Solve) {
	now, asked := time.Now(), map[solve.ID]time.Time{}
	slices.SortStableFunc(live, func(a, b solve.Solve) int { return solve.StrangersLast(a.Trigger.Stranger, b.Trigger.Stranger) })
	for _, s := range live {
		if s.State != solve.StateQueued || s.Lease.Node != "" || !s.Greeted.IsZero() || !s.CancelAt.IsZero() {
			continue
		}
		last, before := e.asked[s.ID]
		if before && now.Sub(last) < authorizePause {
			asked[s.ID] = last
			continue
		}
		e.mu.Lock()
		_, known := e.authorizing[s.ID]
		full := len(e.authorizing) >= maxAuthorizing
		e.mu.Unlock()
		if known || full {
			continue
		}
		asked[s.ID] = now
		s.Lease.Token = 0 // nobody's: whoever claims it meanwhile changes nothing about who asked
		start(e, e.logOf(s.ID, s.Repo).WithContext(work), e.authorizing, s.ID, nil, func(ctx context.Context) { e.authorizeOne(ctx, s) })
	}
	e.asked = asked
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
