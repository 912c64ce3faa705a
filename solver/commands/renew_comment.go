package commands

import (
	"context"
	"errors"

	"github.com/yudai-dev/yudai/solve"
)

// renewComment writes the deleted progress comment of a live solve again. The comment of a
// solve that ended stays deleted.
func (c *Commands) renewComment(ctx context.Context, a solve.Command) error {
	s, err := c.store.Solve(ctx, a.Solve)
	if errors.Is(err, solve.ErrNotFound) {
		return nil
	}
	if err != nil || s.State.Final() || s.Repo.ID != a.Repo.ID {
		return err
	}
	err = c.store.RenewEffect(ctx, string(s.ID)+"/"+string(solve.EffectNotice))
	if errors.Is(err, solve.ErrNotFound) {
		return nil // none was written yet
	}
	return err
}
