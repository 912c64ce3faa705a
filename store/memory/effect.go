package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// want queues an effect. One that is known is asked for again if it is
// level-triggered and not dead, and left alone otherwise.
func (d *data) want(e solve.Effect, at time.Time) {
	old, known := d.effects[e.Key]
	switch {
	case !known:

		e.V, e.State, e.Wanted, e.Applied, e.Token = recordVersion, solve.EffectPending, 1, 0, 0
		if e.Due.IsZero() {
			e.Due = at
		}
		d.order++
		old = effect{e, d.order}
	case !old.Kind.Level() || old.State == solve.EffectDead:
		return
	default:
		old.Wanted++
		if old.State == solve.EffectApplied {
			d.order++
			old.State, old.Due, old.order = solve.EffectPending, at, d.order
		}
	}
	set(d, d.effects, e.Key, old)
}

// isDue says whether somebody may write the effect now.
func isDue(e solve.Effect, now time.Time) bool {
	return e.State == solve.EffectPending && !e.Due.After(now) || e.State == solve.EffectSending && !e.Until.After(now)
}

// DueEffects returns what is to be written now, by installation, priority, age.
func (s *Store) DueEffects(ctx context.Context, now time.Time) ([]solve.Effect, error) {
	var list []effect
	err := s.view(ctx, func(d *data) error {
		for _, e := range d.effects {
			if isDue(e.Effect, now) {
				list = append(list, e)
			}
		}
		return nil
	})
	slices.SortFunc(list, func(a, b effect) int {
		return cmp.Or(cmp.Compare(a.Repo.Installation, b.Repo.Installation),
			cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.order, b.order))
	})
	out := make([]solve.Effect, len(list))
	for i, e := range list {
		out[i] = e.Effect
	}
	return out, err
}

func (d *data) effect(k string) (effect, error) {
	e, known := d.effects[k]
	if !known {
		return e, fmt.Errorf("effect %q: %w", k, solve.ErrNotFound)
	}
	return e, nil
}

// Effect returns one effect; [solve.ErrNotFound] if there is none.
func (s *Store) Effect(ctx context.Context, k string) (out solve.Effect, err error) {
	err = s.view(ctx, func(d *data) error {
		e, err := d.effect(k)
		out = e.Effect
		return err
	})
	return out, err
}

// SolveEffects are all effects of one solve, by key.
func (s *Store) SolveEffects(ctx context.Context, id solve.ID) (out []solve.Effect, err error) {
	err = s.view(ctx, func(d *data) error {
		for k, e := range d.effects {
			if strings.HasPrefix(k, string(id)+"/") {
				out = append(out, e.Effect)
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b solve.Effect) int { return cmp.Compare(a.Key, b.Key) })
	return out, err
}
