package ghapp

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// single is a comment or a check run. GitHub has no key that would keep it single, so
// each carries a mark of ours.
type single[T interface{ GetID() int64 }] struct {
	find    func(context.Context) ([]T, error)
	create  func(context.Context) (T, error)
	receipt func(T) solve.Receipt
	edit    func(ctx context.Context, id int64) (solve.Receipt, error)
	// current says that an edit would change nothing; nil if that cannot be seen.
	current func(T) bool
	// remove takes an extra one away.
	remove func(ctx context.Context, extra T) error
}

// put edits the one that the receipt names, or finds it, or creates it.
func put[T interface{ GetID() int64 }](ctx context.Context, t *writeTry, s single[T]) (solve.Receipt, error) {
	if t.e.Receipt.ID != 0 {
		r, err := s.edit(ctx, t.e.Receipt.ID)
		if statusOf(err) != http.StatusNotFound {
			return r, err
		}
		if t.w.app.now().Before(t.e.Done.Add(t.w.cfg.ListLag)) {
			return r, err // made moments ago: GitHub may not see it everywhere yet
		}
		t.unknown = true // deleted, or made anew by a try that was cut: look first
	}
	if t.unknown {
		found, err := s.find(ctx)
		if err != nil {
			return solve.Receipt{}, err
		}
		if len(found) > 0 {
			return s.keepOldest(ctx, found)
		}
		t.unknown = false
	}
	made, err := s.create(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	// A call given up as lost may have come through after all.
	found, err := s.find(ctx)
	if err != nil {
		return solve.Receipt{}, err // the next try finds it by its mark
	}
	if !slices.ContainsFunc(found, func(one T) bool { return one.GetID() == made.GetID() }) {
		found = append(found, made) // lists lag
	}
	if len(found) == 1 {
		return s.receipt(made), nil
	}
	return s.keepOldest(ctx, found)
}

// keepOldest brings the oldest up to date and removes the others.
func (s single[T]) keepOldest(ctx context.Context, found []T) (solve.Receipt, error) {
	oldest := slices.MinFunc(found, func(a, b T) int { return cmp.Compare(a.GetID(), b.GetID()) })
	receipt := s.receipt(oldest)
	if s.current == nil || !s.current(oldest) {
		var err error
		if receipt, err = s.edit(ctx, oldest.GetID()); err != nil {
			return solve.Receipt{}, err
		}
	}
	if err := s.removeOthers(ctx, found, oldest.GetID()); err != nil {
		return solve.Receipt{}, err
	}
	return receipt, nil
}

// removeOthers removes all but the one to keep.
func (s single[T]) removeOthers(ctx context.Context, found []T, keep int64) error {
	for _, extra := range found {
		if extra.GetID() == keep {
			continue
		}
		if err := s.remove(ctx, extra); err != nil {
			return err
		}
	}
	return nil
}

// removeDoubles looks for others beside the one to keep.
func (s single[T]) removeDoubles(ctx context.Context, keep int64) error {
	found, err := s.find(ctx)
	if err != nil || keep == 0 {
		return err
	}
	return s.removeOthers(ctx, found, keep)
}
