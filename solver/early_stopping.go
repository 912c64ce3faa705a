package solver

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/attempt"
	"github.com/yudai-dev/yudai/solver/fault"
)

// look is what a solve was when its runs were looked at last.
type look struct {
	seq uint64
	at  time.Time
}

// cancelRedundant stops the runs that stop rules do not need any more: those at work here, and
// those that wait and could not win. What waits for nothing else the store ends by itself.
func (e *Engine) cancelRedundant(ctx context.Context, live []solve.Solve) {
	seen := map[solve.ID]look{}
	for _, s := range live {
		if !s.MayStopRuns() {
			continue
		}
		last := e.looked[s.ID]
		if last.seq != s.Seq || time.Since(last.at) >= tick { // else nothing ended, and no agent got much slower
			last = look{s.Seq, time.Now()}
			e.cancelRedundantRuns(ctx, s)
		}
		seen[s.ID] = last
	}
	e.looked = seen
}

func (e *Engine) cancelRedundantRuns(ctx context.Context, s solve.Solve) {
	runs, err := e.store.Runs(ctx, s.ID)
	fault.Log(ctx, err, "runs not read")
	rule := s.RuleOr(e.cfg.settings())
	for _, r := range runs {
		why := s.Redundant(r, e.worked(r), runs, rule)
		switch {
		case why == "":
		case r.State == solve.RunQueued:
			e.cancelQueued(ctx, r, why)
		default:
			e.stopRun(r, attempt.NotNeeded(why))
		}
	}
}

// cancelQueued ends a run that waits. One that was admitted meanwhile ends, too: its
// worker finds that it is not its own any more.
func (e *Engine) cancelQueued(ctx context.Context, r solve.Run, why string) {
	_, _, err := e.store.Store.Apply(ctx, solve.Change{
		Solve: r.Solve, Run: r.N, Event: solve.Cancelled{NotNeeded: true}, Reason: why,
	})
	if !errors.Is(err, solve.ErrTransition) { // it ended by itself, or for another reason
		fault.Log(ctx, err, "run not ended")
	}
}

// worked is how long the run's agent has worked, if it works here.
func (e *Engine) worked(r solve.Run) time.Duration {
	e.mu.Lock()
	t, ok := e.runs[runKey{r.Solve, r.N}]
	e.mu.Unlock()
	if !ok || t.worked == nil {
		return 0
	}
	return t.worked()
}

// stopRun cancels the work on a run, if it is done here.
func (e *Engine) stopRun(r solve.Run, cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t, ok := e.runs[runKey{r.Solve, r.N}]; ok {
		t.cancel(cause)
	}
}
