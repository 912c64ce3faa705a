package solver

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// renewComment has the deleted progress comment of a live solve written anew. That of
// a solve that ended stays deleted: a person wanted it gone, and it says nothing new.
func (e *Engine) renewComment(ctx context.Context, a solve.Ask) error {
	s, err := e.Store.Solve(ctx, a.Solve)
	if errors.Is(err, solve.ErrNotFound) {
		return nil
	}
	if err != nil || s.State.Final() || s.Repo.ID != a.Repo.ID {
		return err
	}
	err = e.Store.RenewEffect(ctx, string(s.ID)+"/"+string(solve.EffectNotice), time.Now())
	if errors.Is(err, solve.ErrNotFound) {
		return nil // none was written yet
	}
	return err
}
