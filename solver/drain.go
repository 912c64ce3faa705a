package solver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// cancelPatience is how long a cancelled solve waits for its runs to collect
// what they have: the whole is over within five seconds.
const cancelPatience = 4 * time.Second

// drain ends a running solve that was cancelled or whose time is over. The runs
// at work end by themselves first, and keep what they have; those that wait are
// ended here. With the last one the store moves the solve on.
func (e *Engine) drain(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	read, unwatch := context.WithCancel(context.WithoutCancel(ctx)) // a cancel is why we are here
	defer unwatch()
	hints := e.store.Watch(read)
	ticker := time.NewTicker(tick / 4)
	defer ticker.Stop()
	for {
		now, err := e.store.Solve(read, s.ID)
		if err != nil || now.State != solve.StateRunning {
			return now, err
		}
		runs, err := e.store.Runs(read, s.ID)
		if err != nil {
			return now, err
		}
		cancelled := !now.CancelAt.IsZero()
		working := slices.ContainsFunc(runs, func(r solve.Run) bool { return r.State.Active() })
		switch {
		case cancelled && (!working || time.Since(now.CancelAt) > cancelPatience):
			return now, context.Canceled
		case !cancelled && !working:
			return e.expireQueued(read, now, runs)
		}
		select {
		case <-hints:
		case <-ticker.C:
		}
		if fault.Stopping(ctx) {
			return now, context.Cause(ctx)
		}
	}
}

// expireQueued ends the runs that never started; candidates that passed still win.
func (e *Engine) expireQueued(ctx context.Context, s solve.Solve, runs []solve.Run) (solve.Solve, error) {
	left := 0
	for _, r := range runs {
		if r.State != solve.RunQueued {
			continue
		}
		left++
		if _, _, err := e.store.Apply(ctx, solve.Change{
			Solve: s.ID, Run: r.N, Event: solve.TimedOut{}, Reason: "the solve's time was over before it started",
		}); err != nil && !errors.Is(err, solve.ErrTransition) { // the stop rule was faster
			return s, err
		}
	}
	if left == 0 {
		return s, context.DeadlineExceeded
	}
	return e.store.Solve(ctx, s.ID)
}
