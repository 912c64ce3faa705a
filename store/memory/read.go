package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// Solve returns one solve; [solve.ErrNotFound] if there is none.
func (s *Store) Solve(ctx context.Context, id solve.ID) (out solve.Solve, err error) {
	err = s.view(ctx, func(d *data) error {
		out, err = d.solve(id)
		return err
	})
	return out, err
}

// Runs returns the runs of a solve by number.
func (s *Store) Runs(ctx context.Context, id solve.ID) (out []solve.Run, err error) {
	err = s.view(ctx, func(d *data) error {
		out = d.runsOf(id)
		_, err := d.solve(id)
		return err
	})
	return out, err
}

// Run returns one run; [solve.ErrNotFound] if there is none.
func (s *Store) Run(ctx context.Context, id solve.ID, n int) (out solve.Run, err error) {
	err = s.view(ctx, func(d *data) error {
		out, err = d.run(id, n)
		return err
	})
	return out, err
}

// Events returns the events of a solve with a number above after, in order.
func (s *Store) Events(ctx context.Context, id solve.ID, after uint64) (out []solve.Entry, err error) {
	err = s.view(ctx, func(d *data) error {
		for _, e := range d.events[id] {
			if e.Seq > after {
				out = append(out, e)
			}
		}
		_, err := d.solve(id)
		return err
	})
	return out, err
}

// Solves are at most that many solves whose ID is below before, or of all for "", the highest ID first.
func (s *Store) Solves(ctx context.Context, before solve.ID, most int) (out []solve.Solve, err error) {
	err = s.view(ctx, func(d *data) error {
		out = nil
		for _, one := range d.solves {
			if before == "" || one.ID < before {
				out = append(out, private(one))
			}
		}
		slices.SortFunc(out, func(a, b solve.Solve) int { return cmp.Compare(b.ID, a.ID) })
		out = out[:min(most, len(out))]
		return nil
	})
	return out, err
}

// LiveSolves are those in no final state, oldest first.
func (s *Store) LiveSolves(ctx context.Context) (out []solve.Solve, err error) {
	err = s.view(ctx, func(d *data) error {
		out = d.live()
		return nil
	})
	return out, err
}

// LatestSolve is the newest solve of an issue; [solve.ErrNotFound] if none.
func (s *Store) LatestSolve(ctx context.Context, repoID int64, issue int) (out solve.Solve, err error) {
	err = s.view(ctx, func(d *data) error {
		id, known := d.latest[issueKey{repoID, issue}]
		if !known {
			return fmt.Errorf("solve of issue %d: %w", issue, solve.ErrNotFound)
		}
		out, err = d.solve(id)
		return err
	})
	return out, err
}
