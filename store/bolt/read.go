package bolt

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// Solve returns one solve; [solve.ErrNotFound] if there is none.
func (s *Store) Solve(ctx context.Context, id solve.ID) (out solve.Solve, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = t.solve(id)
		return err
	})
	return out, err
}

// Runs returns the runs of a solve by number.
func (s *Store) Runs(ctx context.Context, id solve.ID) (out []solve.Run, err error) {
	err = s.view(ctx, func(t *tx) error {
		if err := t.mustExist(id); err != nil {
			return err
		}
		out, err = t.runsOf(id)
		return err
	})
	return out, err
}

// Run returns one run; [solve.ErrNotFound] if there is none.
func (s *Store) Run(ctx context.Context, id solve.ID, n int) (out solve.Run, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = t.oneRun(id, n)
		return err
	})
	return out, err
}

// Events returns the events of a solve with a number above after, in order.
func (s *Store) Events(ctx context.Context, id solve.ID, after uint64) (out []solve.Entry, err error) {
	err = s.view(ctx, func(t *tx) error {
		if err := t.mustExist(id); err != nil {
			return err
		}
		prefix := key(nil).text(string(id))
		from := key(nil).text(string(id)).num(after + 1)
		return t.scanFrom(events, prefix, from, func(_, v []byte) (bool, error) {
			var r entryRecord
			err := decode("event of solve "+string(id), v, &r)
			out = append(out, r.Entry)
			return true, err
		})
	})
	return out, err
}

// LiveSolves are those in no final state, oldest first.
func (s *Store) LiveSolves(ctx context.Context) (out []solve.Solve, err error) {
	err = s.view(ctx, func(t *tx) error {
		return t.scan(liveIssue, nil, func(_, v []byte) (bool, error) {
			one, err := t.solve(solve.ID(v))
			out = append(out, one)
			return true, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list live solves: %w", err)
	}
	slices.SortFunc(out, func(a, b solve.Solve) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// LatestSolve is the newest solve of an issue; [solve.ErrNotFound] if none.
func (s *Store) LatestSolve(ctx context.Context, repoID int64, issue int) (out solve.Solve, err error) {
	err = s.view(ctx, func(t *tx) error {
		id := t.get(byIssue, issueKey(repoID, issue))
		if id == nil {
			return fmt.Errorf("solve of issue %d: %w", issue, solve.ErrNotFound)
		}
		out, err = t.solve(solve.ID(id))
		return err
	})
	return out, err
}

func (t *tx) mustExist(id solve.ID) error {
	if t.get(solves, []byte(id)) == nil {
		return fmt.Errorf("solve %q: %w", id, solve.ErrNotFound)
	}
	return nil
}
