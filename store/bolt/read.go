package bolt

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// Solve returns one solve; [solve.ErrNotFound] if there is none.
func (s *Store) Solve(ctx context.Context, id solve.ID) (solve.Solve, error) {
	return read(ctx, s, func(t *tx) (solve.Solve, error) { return t.solve(id) })
}

// Runs returns the runs of a solve by number.
func (s *Store) Runs(ctx context.Context, id solve.ID) ([]solve.Run, error) {
	return read(ctx, s, func(t *tx) ([]solve.Run, error) {
		if err := t.mustExist(id); err != nil {
			return nil, err
		}
		return t.runsOf(id)
	})
}

// Run returns one run; [solve.ErrNotFound] if there is none.
func (s *Store) Run(ctx context.Context, id solve.ID, n int) (solve.Run, error) {
	return read(ctx, s, func(t *tx) (solve.Run, error) { return t.oneRun(id, n) })
}

// Events returns the events of a solve with a number above after, in order.
func (s *Store) Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error) {
	return read(ctx, s, func(t *tx) (out []solve.Entry, err error) {
		if err := t.mustExist(id); err != nil {
			return nil, err
		}
		prefix := key(nil).text(string(id))
		for k, v := range t.scanFrom(events, prefix, key(nil).text(string(id)).num(after+1)) {
			r, err := decode[entryRecord](fmt.Sprintf("event %d of solve %s", num(k[len(prefix):]), id), v)
			if err != nil {
				return nil, err
			}
			out = append(out, r.Entry)
		}
		return out, nil
	})
}

// Solves are at most that many solves whose ID is below before, or of all for "", the highest ID first.
func (s *Store) Solves(ctx context.Context, before solve.ID, most int) ([]solve.Solve, error) {
	return read(ctx, s, func(t *tx) (out []solve.Solve, err error) {
		for k, v := range t.scanBack(solves, []byte(before)) {
			if len(out) >= most {
				break
			}
			one, err := t.decodeSolve(solve.ID(k), v)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	})
}

// LiveSolves are those in no final state, oldest first.
func (s *Store) LiveSolves(ctx context.Context) ([]solve.Solve, error) {
	out, err := read(ctx, s, (*tx).liveSolves)
	slices.SortFunc(out, func(a, b solve.Solve) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, err
}

// LatestSolve is the newest solve of an issue; [solve.ErrNotFound] if none.
func (s *Store) LatestSolve(ctx context.Context, repoID int64, issue int) (solve.Solve, error) {
	return read(ctx, s, func(t *tx) (solve.Solve, error) {
		id := t.get(byIssue, issueKey(repoID, issue))
		if id == nil {
			return solve.Solve{}, fmt.Errorf("solve of issue %d: %w", issue, solve.ErrNotFound)
		}
		return t.solve(solve.ID(id))
	})
}

func (t *tx) mustExist(id solve.ID) error {
	if t.get(solves, []byte(id)) == nil {
		return fmt.Errorf("solve %q: %w", id, solve.ErrNotFound)
	}
	return nil
}
