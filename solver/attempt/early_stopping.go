package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// NotNeeded is the cause with which a run is stopped that its solve's stop rule does not
// need any more. It is an agent.ErrCancelled; its text is public.
type NotNeeded string

// Error is the public text.
func (u NotNeeded) Error() string { return string(u) }

// Is says that it is an agent.ErrCancelled.
func (u NotNeeded) Is(target error) bool { return target == agent.ErrCancelled }

// Worked is how long the agent has worked, all owners of the attempt together; 0 while
// it does not.
func (a *Attempt) Worked() time.Duration {
	if since := a.since.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// stopped ends the run that a person or the stop rule cancelled; note says what became
// of its work, and kept is that.
func (a *Attempt) stopped(ctx context.Context, note string, kept *solve.Candidate) error {
	why, err := a.whyStopped(ctx)
	if err != nil {
		return err
	}
	reason, notNeeded := "cancelled", why != ""
	if notNeeded {
		reason = why
	}
	return a.apply(ctx, solve.Cancelled{NotNeeded: notNeeded, Candidate: kept}, reason+note)
}

// whyStopped is why the stop rule has no need of the run, "" if it was a person who
// cancelled it. An owner that died after it had stopped the agent left no word: the rule
// says the same again.
func (a *Attempt) whyStopped(ctx context.Context) (string, error) {
	cause := context.Cause(ctx)
	if cause == nil {
		runs, err := a.with.Store.Runs(ctx, a.run.Solve)
		return a.solve.Redundant(a.run, 0, runs, a.solve.RuleOr(a.with.Settings)), err
	}
	var why NotNeeded
	errors.As(cause, &why)
	return string(why), nil
}
