package bolt

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Apply does one transition with all that belongs to it, or nothing.
// [solve.ErrLeaseLost], [solve.ErrTransition] and [solve.ErrNotFound] say why not.
func (s *Store) Apply(ctx context.Context, ch solve.Change) (solve.Solve, solve.Run, error) {
	at := s.at(ch.At)
	var after solve.Solve
	var run solve.Run
	err := s.update(ctx, string(ch.Event), func(t *tx) error {
		c, err := t.open(ch.Solve, at)
		if err != nil {
			return err
		}
		run = solve.Run{}
		if ch.Run == 0 {
			err = c.applySolve(ch)
		} else {
			run, err = c.applyRun(ch)
		}
		if err != nil {
			return err
		}
		after = c.s
		return c.end()
	})
	if err != nil {
		return solve.Solve{}, solve.Run{}, fmt.Errorf("apply %s: %w", ch.Event, err)
	}
	return after, run, nil
}

func (c *change) applySolve(ch solve.Change) error {
	if err := c.t.fence(c.s.Lease, ch.Token, c.at); err != nil {
		return fmt.Errorf("solve %s: %w", c.s.ID, err)
	}
	return c.moveSolve(ch)
}

func (c *change) applyRun(ch solve.Change) (solve.Run, error) {
	r, err := c.t.oneRun(ch.Solve, ch.Run)
	if err != nil {
		return r, err
	}
	if err := c.t.fence(r.Lease, ch.Token, c.at); err != nil {
		return r, fmt.Errorf("run %d of solve %s: %w", r.N, r.Solve, err)
	}
	if r, err = c.moveRun(r, ch, nil); err != nil {
		return r, err
	}
	if r.State.Active() {
		return r, nil
	}
	if err := c.settle(); err != nil || r.State.Final() {
		return r, err
	}
	return c.t.oneRun(ch.Solve, ch.Run) // it went back into the queue, and may be over now
}

// AskCancel notes that a person wants the solve stopped. What nobody works on
// ends at once; owners see the flag when they read the solve again.
func (s *Store) AskCancel(ctx context.Context, id solve.ID, by, why string, at time.Time) (solve.Solve, error) {
	at = s.at(at)
	var after solve.Solve
	err := s.update(ctx, "ask-cancel", func(t *tx) error {
		c, err := t.open(id, at)
		if err != nil {
			return err
		}
		if c.s.State.Final() {
			after = c.s
			return nil
		}
		if c.s.CancelAt.IsZero() {
			c.s.CancelBy, c.s.CancelWhy, c.s.CancelAt = by, why, at
		}
		if err := c.stopIdle(); err != nil {
			return err
		}
		after = c.s
		return c.end()
	})
	if err != nil {
		return solve.Solve{}, fmt.Errorf("ask for cancel: %w", err)
	}
	return after, nil
}

// stopIdle ends the queued runs of a solve whose cancel was asked for, and the
// solve itself if nobody is left to do it.
func (c *change) stopIdle() error {
	if err := c.endRuns(solve.Change{Event: solve.EventCancelled, Reason: c.cancelReason()}, true); err != nil {
		return err
	}
	unclaimed := c.s.Lease.Node == "" || c.t.mustLive(c.s.Lease.Node, c.at) != nil
	if c.s.State == solve.StateQueued && unclaimed {
		return c.moveSolve(solve.Change{Event: solve.EventCancelled, Reason: c.cancelReason()})
	}
	return c.settle()
}

// at is the time of a change: the caller's, else the clock's.
func (s *Store) at(t time.Time) time.Time {
	if t.IsZero() {
		return s.cfg.Now()
	}
	return t
}
