package solver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// work carries a claimed solve as far as it goes without waiting for runs. A step
// that failed for a reason that may pass is done again later, from its start.
func (e *Engine) work(ctx context.Context, s solve.Solve, at *slot) {
	log := zerolog.Ctx(ctx)
	log.Info().Str(logkey.State, string(s.State)).Msg("solve claimed")
	var failed tries
	for !s.State.Final() && s.Lease.Node == e.node {
		next, err := e.step(ctx, s)
		switch {
		case errors.Is(err, solve.ErrLeaseLost):
			log.Warn().Msg("solve taken over by another node")
			return
		case fault.Stopping(ctx):
			return
		case err != nil:
			if wait, again := failed.after(ctx, s, err, e.cfg.MaxAttempts); again {
				at.backOff(ctx, wait)
				continue
			}
			next, err = e.giveUp(ctx, s, failed.cause(err))
			if err != nil {
				log.Error().Err(err).Msg("solve not ended")
				return
			}
		}
		s = next
	}
	if s.State.Final() {
		e.budgets.Drop(s.ID)
		log.Info().Str(logkey.State, string(s.State)).Msg("solve ended")
	}
}

// step does what the solve's state asks for and returns it as stored after.
func (e *Engine) step(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	switch s.State { // these two see a cancel themselves
	case solve.StateRunning:
		return e.drain(ctx, s)
	case solve.StatePublishing:
		return e.publish(ctx, s)
	}
	if !s.CancelAt.IsZero() || context.Cause(ctx) != nil {
		return s, context.Canceled
	}
	switch s.State {
	case solve.StateQueued:
		return e.plan(ctx, s)
	case solve.StatePreparing:
		return e.prepare(ctx, s)
	default:
		return e.reduce(ctx, s)
	}
}

// giveUp ends a solve that was cancelled, ran out of time, or cannot be done.
func (e *Engine) giveUp(ctx context.Context, s solve.Solve, cause error) (solve.Solve, error) {
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if now, err := e.store.Solve(read, s.ID); err == nil {
		s.CancelAt, s.CancelBy, s.CancelWhy = now.CancelAt, now.CancelBy, now.CancelWhy
	}
	c := solve.Change{Solve: s.ID, Token: s.Lease.Token}
	var no fault.Refusal
	switch {
	case !s.CancelAt.IsZero():
		c.Event, c.Reason = solve.Cancelled{}, "Cancelled by "+s.CancelBy+"."
		if s.CancelWhy != "" {
			c.Reason = s.CancelWhy
		}
	case !s.Deadline.IsZero() && !time.Now().Before(s.Deadline) && !errors.As(cause, &no):
		c.Event = solve.Expired{}
		c.Reason = fmt.Sprintf("The time budget of %s ended before a champion was found%s.", s.Deadline.Sub(s.Started), outsideFault(cause))
	case errors.As(cause, &no):
		c.Event, c.Reason = solve.Aborted{Refused: true, Denied: no.Denied, Silent: no.Silent}, no.Text
	default:
		zerolog.Ctx(ctx).Error().Err(cause).Msg("solve failed")
		c.Event, c.Reason = solve.Aborted{}, "yudai could not go on: "+fault.Public(cause)
	}
	if s.State == solve.StatePublishing && solve.NameOf(c.Event) == solve.EventExpired {
		c.Event, c.Reason = solve.Aborted{}, "yudai could not go on: "+fault.Public(cause)
	}
	s, _, err := e.store.Apply(ctx, c)
	if err == nil {
		sandboxes.DeleteBases(ctx, e.drivers, s)
	}
	return s, err
}

// outsideFault names what outside kept a solve waiting until its time was over.
func outsideFault(cause error) string {
	var outside fault.Outside
	if !errors.As(cause, &outside) {
		return ""
	}
	return ": " + fault.Public(cause)
}

// authorize looks up whether the actor may ask, and lets people see that the trigger was
// heard before anything slow begins.
func (e *Engine) authorize(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	if err := e.planner.Authorize(ctx, s); err != nil || !s.Greeted.IsZero() {
		return s, err
	}
	after, _, err := e.store.Apply(ctx, solve.Change{Solve: s.ID, Token: s.Lease.Token, Event: solve.Greeted{}})
	if err != nil {
		return s, err
	}
	return after, nil
}

// plan starts a solve as it was planned, if the day has room for it.
func (e *Engine) plan(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	s, err := e.authorize(ctx, s)
	if err != nil {
		return s, err
	}
	planned, err := e.planner.Plan(ctx, s)
	if err != nil {
		return s, err
	}
	unlock, err := e.daily.Lock(ctx)
	if err != nil {
		return s, err
	}
	defer unlock()
	if err := e.daily.Check(ctx, planned, &planned.Plan); err != nil {
		return s, err
	}
	s, _, err = e.store.Apply(ctx, solve.Change{
		Solve: planned.ID, Token: planned.Lease.Token,
		Event: solve.Claimed{Plan: planned.Plan, Base: planned.Base, Branch: planned.Branch},
	})
	return s, err
}

// prepare makes the base of the runs, and the runs.
func (e *Engine) prepare(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	makeBase := e.preparer.Prepare
	if s.Picked() { // nothing runs: a person picks among the runs there are
		makeBase = func(ctx context.Context, s solve.Solve) (solve.Base, error) {
			return e.planner.EarlierBase(ctx, s, prepare.BaseReport)
		}
	}
	base, err := makeBase(ctx, s)
	if err != nil {
		return s, err
	}
	prepared := s
	prepared.Base = base
	runs, err := e.planner.Runs(ctx, prepared)
	if err != nil {
		return s, err
	}
	s, _, err = e.store.Apply(ctx, solve.Change{
		Solve: s.ID, Token: s.Lease.Token, Event: solve.BaseReady{Base: base, Runs: runs},
	})
	return s, err
}
