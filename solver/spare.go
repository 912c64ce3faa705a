package solver

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// unneeded is the cause with which a run is stopped that its solve's stop rule does not
// need any more. It is an agent.ErrCancelled; its text is public.
type unneeded string

func (u unneeded) Error() string        { return string(u) }
func (u unneeded) Is(target error) bool { return target == agent.ErrCancelled }

// look is what a solve was when its runs were looked at last.
type look struct {
	seq uint64
	at  time.Time
}

// spare stops the runs that stop rules do not need any more: those at work here, and
// those that wait and could not win. What waits for nothing else the store ends by itself.
func (e *Engine) spare(ctx context.Context, live []solve.Solve) {
	seen := map[solve.ID]look{}
	for _, s := range live {
		if s.State != solve.StateRunning || s.Plan.Stop == "" || s.Plan.Stop == solve.StopAll || !s.CancelAt.IsZero() {
			continue
		}
		last := e.looked[s.ID]
		if last.seq != s.Seq || time.Since(last.at) >= tick { // else nothing ended, and no agent got much slower
			last = look{s.Seq, time.Now()}
			e.spareRuns(ctx, s)
		}
		seen[s.ID] = last
	}
	e.looked = seen
}

func (e *Engine) spareRuns(ctx context.Context, s solve.Solve) {
	runs, err := e.Store.Runs(ctx, s.ID)
	fault.Log(ctx, err, "runs not read")
	rule := e.rule(s)
	for _, r := range runs {
		why := s.Needless(r, e.worked(r), runs, rule)
		switch {
		case why == "":
		case r.State == solve.RunQueued:
			e.spareQueued(ctx, r, why)
		default:
			e.stopRun(r, unneeded(why))
		}
	}
}

// rule is that of the solve's reducer.
func (e *Engine) rule(s solve.Solve) solve.Rule {
	return solve.Rule{Order: e.settings(s).Order, Models: s.Plan.Order}
}

// spareQueued ends a run that waits. One that was admitted meanwhile ends, too: its
// worker finds that it is not its own any more.
func (e *Engine) spareQueued(ctx context.Context, r solve.Run, why string) {
	_, _, err := e.Store.Apply(ctx, solve.Change{
		Solve: r.Solve, Run: r.N, Event: solve.Cancelled{NotNeeded: true}, At: time.Now(), Reason: why,
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

// worked is how long the agent has worked, all owners of the attempt together; 0 while
// it does not.
func (w *worker) worked() time.Duration {
	if since := w.since.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// stopped ends the run that a person or the stop rule cancelled; note says what became
// of its work, and kept is that.
func (w *worker) stopped(ctx context.Context, note string, kept *solve.Candidate) error {
	why, err := w.whyStopped(ctx)
	if err != nil {
		return err
	}
	reason, spared := "cancelled", why != ""
	if spared {
		reason = why
	}
	return w.apply(ctx, solve.Cancelled{NotNeeded: spared, Candidate: kept}, reason+note)
}

// whyStopped is why the stop rule has no need of the run, "" if it was a person who
// cancelled it. An owner that died after it had stopped the agent left no word: the rule
// says the same again.
func (w *worker) whyStopped(ctx context.Context) (string, error) {
	cause := context.Cause(ctx)
	if cause == nil {
		runs, err := w.Store.Runs(ctx, w.run.Solve)
		return w.solve.Needless(w.run, 0, runs, w.rule(w.solve)), err
	}
	var why unneeded
	errors.As(cause, &why)
	return string(why), nil
}
