package bolt

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Apply does one transition with all that belongs to it, or nothing.
// [solve.ErrLeaseLost], [solve.ErrTransition] and [solve.ErrNotFound] say why not.
func (s *Store) Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	c.Token = trusted(c.Token)
	after, err := s.transition(ctx, string(solve.NameOf(c.Event)), func(r reader) (*solve.Transition, error) {
		return solve.Apply(r, c, r.at)
	})
	return after.Solve, after.Run, err
}

// RequestCancel notes that a person wants the solve stopped. What nobody works on
// ends at once; owners see the flag when they read the solve again.
func (s *Store) RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error) {
	after, err := s.transition(ctx, "ask-cancel", func(r reader) (*solve.Transition, error) {
		return solve.Cancel(r, id, by, why, r.at)
	})
	return after.Solve, err
}

// transition writes what a rule returns.
func (s *Store) transition(ctx context.Context, op string, rule func(reader) (*solve.Transition, error)) (solve.Transition, error) {
	after, err := write(ctx, s, op, func(t *tx) (solve.Transition, error) {
		after, err := rule(reader{t, s.cfg.Now()})
		if err != nil {
			return solve.Transition{}, err
		}
		return *after, t.write(after)
	})
	if err == nil && s.cfg.Ended != nil && after.Solve.State.Final() && len(after.Entries) > 0 {
		runs, _ := s.Runs(context.WithoutCancel(ctx), after.Solve.ID) // who reads them next is told why they cannot be read
		s.cfg.Ended(after.Solve, runs)
	}
	return after, err
}

// at is the time of a change: the caller's, else the clock's.
func (s *Store) at(t time.Time) time.Time {
	if t.IsZero() {
		return s.cfg.Now()
	}
	return t
}
