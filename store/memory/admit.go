package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Admit dispatches queued runs to the node while there is room.
func (s *Store) Admit(ctx context.Context, node string, now time.Time, caps solve.Caps) (admitted []solve.Run, err error) {
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("admit runs: node %q", node)
		}
		for {
			waiting := d.waiting(now, caps)
			if len(waiting) == 0 {
				return nil
			}
			r, err := d.dispatch(waiting[0], node, now)
			if err != nil {
				return err
			}
			admitted = append(admitted, r)
		}
	})
	if err != nil {
		return nil, err
	}
	return admitted, nil
}

// waiting are the queued runs that may start now: those of the repository with
// the fewest runs at work first, then of the oldest solve, then by wave and number.
func (d *data) waiting(now time.Time, caps solve.Caps) []solve.Run {
	out := d.runsWhere(func(r solve.Run) bool { return r.State == solve.RunQueued && d.mayStart(r, now, caps) })
	slices.SortStableFunc(out, func(a, b solve.Run) int {
		x, y := d.solves[a.Solve], d.solves[b.Solve]
		return cmp.Or(cmp.Compare(d.busy(ofRepo(a)), d.busy(ofRepo(b))), x.Created.Compare(y.Created),
			cmp.Compare(x.ID, y.ID), cmp.Compare(a.Experiment.Wave, b.Experiment.Wave), cmp.Compare(a.N, b.N))
	})
	return out
}

func (d *data) mayStart(r solve.Run, now time.Time, caps solve.Caps) bool {
	s := d.solves[r.Solve]
	room := func(most int, fits func(solve.Run) bool) bool { return most <= 0 || d.busy(fits) < most }
	return s.State == solve.StateRunning && s.CancelAt.IsZero() && !s.Overdue(now) && !s.Held(r) &&
		room(caps.Process, func(solve.Run) bool { return true }) &&
		room(caps.Installation, func(o solve.Run) bool { return o.Repo.Installation == r.Repo.Installation }) &&
		room(caps.Repository, ofRepo(r)) &&
		room(s.Plan.Limits.Parallel, func(o solve.Run) bool { return o.Solve == r.Solve })
}

func ofRepo(r solve.Run) func(solve.Run) bool {
	return func(o solve.Run) bool { return o.Repo.ID == r.Repo.ID }
}

// busy counts the runs at work that fit.
func (d *data) busy(fits func(solve.Run) bool) int {
	return d.count(func(r solve.Run) bool { return r.State.Active() && fits(r) })
}

func (d *data) dispatch(r solve.Run, node string, now time.Time) (solve.Run, error) {
	after, err := solve.Admit(reader{d, now}, r.Solve, r.N, node, now)
	if err != nil {
		return r, err
	}
	d.write(after, now)
	return after.Run, nil
}
