package bolt

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// WithdrawEffect ends a write that nobody has begun: pending, and its call never
// made. It returns false, and changes nothing, for one that is being written,
// whose outcome is unknown, or that is over.
func (s *Store) WithdrawEffect(ctx context.Context, k, reason string, at time.Time) (bool, error) {
	done := false
	err := s.update(ctx, "withdraw-effect", func(t *tx) error {
		done = false
		old, err := t.effect(k)
		if err != nil || old.State != solve.EffectPending || !old.SentAt.IsZero() {
			return err
		}
		r := old
		r.State, r.Error, r.Done = solve.EffectDead, reason, at
		done = true
		return t.putEffect(&old, r)
	})
	if err != nil {
		return false, fmt.Errorf("withdraw effect: %w", err)
	}
	return done, nil
}
