package memory

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// Apply does one transition with all that belongs to it, or nothing.
func (s *Store) Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	after, err := s.transition(ctx, func(r reader) (*solve.Transition, error) { return solve.Apply(r, c, r.at) })
	if err != nil {
		return solve.Solve{}, solve.Run{}, fmt.Errorf("apply %s: %w", solve.NameOf(c.Event), err)
	}
	return private(after.Solve), private(after.Run), nil
}

// RequestCancel notes that a person wants the solve stopped. What nobody works on
// ends at once.
func (s *Store) RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error) {
	after, err := s.transition(ctx, func(r reader) (*solve.Transition, error) { return solve.Cancel(r, id, by, why, r.at) })
	if err != nil {
		return solve.Solve{}, fmt.Errorf("ask for cancel: %w", err)
	}
	return private(after.Solve), nil
}

// transition writes what a rule returns.
func (s *Store) transition(
	ctx context.Context, rule func(reader) (*solve.Transition, error),
) (after *solve.Transition, err error) {
	at := s.now()
	err = s.update(ctx, func(d *data) (err error) {
		if after, err = rule(reader{d, at}); err == nil {
			d.write(after)
		}
		return err
	})
	return after, err
}
