package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Apply does one transition with all that belongs to it, or nothing.
func (s *Store) Apply(ctx context.Context, ch solve.Change) (after solve.Solve, run solve.Run, err error) {
	at := s.at(ch.At)
	err = s.update(ctx, func(d *data) error {
		c, err := d.open(ch.Solve, at)
		if err != nil {
			return err
		}
		if ch.Run == 0 {
			err = c.applySolve(ch)
		} else {
			run, err = c.applyRun(ch)
		}
		after = c.end()
		return err
	})
	if err != nil {
		return solve.Solve{}, solve.Run{}, fmt.Errorf("apply %s to solve %s, run %d: %w", ch.Event, ch.Solve, ch.Run, err)
	}
	return private(after), private(run), nil
}

func (c *change) applySolve(ch solve.Change) error {
	if err := c.d.fence(c.s.Lease, ch.Token, c.at); err != nil {
		return err
	}
	return c.moveSolve(ch)
}

func (c *change) applyRun(ch solve.Change) (solve.Run, error) {
	r, err := c.d.run(ch.Solve, ch.Run)
	if err != nil {
		return r, err
	}
	if err := c.d.fence(r.Lease, ch.Token, c.at); err != nil {
		return r, err
	}
	if r, err = c.moveRun(r, ch, nil); err != nil || r.State.Active() {
		return r, err
	}
	if err := c.settle(); err != nil {
		return r, err
	}
	return c.d.run(ch.Solve, ch.Run) // one that went back into the queue may be over now
}

// AskCancel notes that a person wants the solve stopped. What nobody works on
// ends at once.
func (s *Store) AskCancel(ctx context.Context, id solve.ID, by, why string, at time.Time) (after solve.Solve, err error) {
	at = s.at(at)
	err = s.update(ctx, func(d *data) error {
		c, err := d.open(id, at)
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
		err = c.stopIdle()
		after = c.end()
		return err
	})
	if err != nil {
		return solve.Solve{}, fmt.Errorf("ask for cancel: %w", err)
	}
	return private(after), nil
}

// stopIdle ends the queued runs of a solve whose cancel was asked for, and the
// solve itself if nobody is left to do it.
func (c *change) stopIdle() error {
	stop := solve.Change{Event: solve.EventCancelled, Reason: c.cancelReason()}
	if err := c.endRuns(stop, func(r solve.Run) bool { return r.State == solve.RunQueued }); err != nil {
		return err
	}
	if c.s.State == solve.StateQueued && !c.d.alive(c.s.Lease.Node, c.at) {
		return c.moveSolve(stop)
	}
	return c.settle()
}
