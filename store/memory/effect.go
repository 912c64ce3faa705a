package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// want queues an effect. One that is known is asked for again if it is
// level-triggered and not dead, and left alone otherwise.
func (d *data) want(e solve.Effect) {
	old, known := d.effects[e.Key]
	after, changed := e.First(), true
	if known {
		after, changed = old.Again()
	}
	if !changed {
		return
	}
	if !known || old.State == solve.EffectApplied {
		d.order++
		old.order = d.order
	}
	set(d, d.effects, e.Key, effect{after, old.order})
}

// DueEffects returns what is to be written now, by installation, priority, age.
func (s *Store) DueEffects(ctx context.Context) ([]solve.Effect, error) {
	var list []effect
	err := s.view(ctx, func(d *data) error {
		now := s.now()
		for _, e := range d.effects {
			if at, ok := e.NextLook(); ok && !at.After(now) {
				list = append(list, e)
			}
		}
		return nil
	})
	slices.SortFunc(list, func(a, b effect) int {
		return cmp.Or(solve.CompareDue(a.Effect, b.Effect), cmp.Compare(a.order, b.order))
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
