package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/yudai-dev/yudai/solve"
)

// releaseBranch deletes the branch of a solve that ended without a pull request, if
// only the reservation is on it. It leaves commits of others alone.
func (t *writeTry) releaseBranch(ctx context.Context) (solve.Receipt, error) {
	s := t.view.Solve
	if s.Branch == "" || s.Target() != nil || !s.State.Final() || s.State == solve.StateSolved {
		return solve.Receipt{}, nil
	}
	sha, err := t.branchHead(ctx)
	if statusOf(err) == http.StatusNotFound {
		if t.countFailure() < 2 {
			return solve.Receipt{}, err // made moments ago: GitHub may not see it everywhere yet
		}
		return solve.Receipt{}, nil
	}
	if err != nil {
		return solve.Receipt{}, err
	}
	head, err := t.commitOf(ctx, sha)
	if err != nil || !isReservation(head, s.ID) {
		return solve.Receipt{}, err
	}
	err = t.deleteBranch(ctx, sha)
	switch {
	case err == nil:
		return solve.Receipt{SHA: sha}, nil
	case errors.As(err, new(*branchMovedError)):
		return solve.Receipt{}, nil
	case statusOf(err) == http.StatusUnprocessableEntity && mentions(err, "does not exist"):
		return solve.Receipt{SHA: sha}, nil
	default:
		return solve.Receipt{}, t.explainRefusal(ctx, err)
	}
}

// branchUnused says whether no other effect of the solve still needs its branch: a
// check run is on a commit that only the branch names.
func (w *Writer) branchUnused(ctx context.Context, id solve.ID) (bool, error) {
	keys := []string{reservationKey(id), string(id) + "/" + string(solve.EffectPull), string(id) + "/" + string(solve.EffectCheck)}
	for n := 1; n <= solve.MaxRunChecks; n++ {
		keys = append(keys, string(id)+"/"+string(solve.EffectRun)+"/"+strconv.Itoa(n))
	}
	for _, key := range keys {
		e, err := w.store.Effect(ctx, key)
		if errors.Is(err, solve.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read effect %s: %w", key, err)
		}
		if e.State != solve.EffectApplied && e.State != solve.EffectDead {
			return false, nil
		}
	}
	return true, nil
}
