package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// takeOver takes over from a dead owner. false: the run went back to the queue or is lost.
func (a *Attempt) takeOver(ctx context.Context) (bool, error) {
	if a.run.State == solve.RunJudging { // the patch is stored, nothing of the old sandbox is needed
		a.discard(ctx, sandboxes.RunName(a.run))
		return true, a.apply(ctx, solve.Adopted{}, "")
	}
	if a.run.State == solve.RunDispatched { // nothing was begun, so that no attempt was used up
		return true, a.apply(ctx, solve.Adopted{}, "")
	}
	last, done := lastDuties(ctx)
	defer done()
	sb, err := a.attach(last, a.run.Sandbox)
	if err == nil {
		a.box = sb
		return true, a.apply(ctx, solve.Adopted{}, "")
	}
	if !errors.Is(err, sandbox.ErrGone) {
		return false, a.requeue(ctx, err, solve.Lost{})
	}
	return false, a.requeue(ctx, errors.New("its owner died and the sandbox is gone"), solve.Lost{})
}

// requeue puts the run back into the queue for another attempt, or ends it with the event last.
func (a *Attempt) requeue(ctx context.Context, cause error, last solve.Event) error {
	if ctx.Err() != nil || errors.Is(cause, solve.ErrLeaseLost) {
		return cause
	}
	a.discard(ctx, sandboxes.RunName(a.run))
	switch {
	case fault.Hopeless(cause):
		return a.apply(ctx, last, fault.Public(cause))
	case a.run.Attempt < a.with.MaxAttempts:
		a.with.Budgets.Requeue(a.run)
		return a.apply(ctx, solve.Requeued{}, fault.Public(cause))
	}
	return a.apply(ctx, last, fmt.Sprintf("given up after %d attempts: %s", a.run.Attempt, fault.Public(cause)))
}

// lostSandbox begins the run anew whose sandbox is not there any more, although a worker had
// it: a provider lost it, or cannot be reached. What the agent changed is lost with it.
func (a *Attempt) lostSandbox(ctx context.Context, err error) error {
	if a.full || !errors.Is(err, sandbox.ErrGone) && !errors.Is(err, sandbox.ErrUnavailable) {
		return err
	}
	a.box = nil
	return a.requeue(ctx, err, solve.Aborted{})
}

// attach finds a sandbox of the run.
func (a *Attempt) attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	d, err := sandboxes.DriverOf(a.with.Drivers, a.solve)
	if err != nil {
		return nil, err
	}
	return d.Attach(ctx, name)
}

// discard removes a sandbox that may be there under that name.
func (a *Attempt) discard(ctx context.Context, name string) {
	sandboxes.Discard(ctx, a.with.Drivers, a.solve, name)
}

// cleanUp cleans up after a run that somebody else ended: then its sandbox is
// nobody's, and the base may have waited for it. One that was taken over keeps both.
func (a *Attempt) cleanUp(ctx context.Context) {
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	r, err := a.with.Store.Run(read, a.run.Solve, a.run.N)
	if err != nil || !r.State.Final() {
		return
	}
	if a.box != nil {
		sandboxes.Close(ctx, a.box)
	}
	if s, err := a.with.Store.Solve(read, a.run.Solve); err == nil && s.State.Final() {
		a.with.Budgets.Drop(s.ID)
		sandboxes.DeleteBases(ctx, a.with.Drivers, s)
	}
}
