package memory

import (
	"context"
	"time"
)

// UnknownDeliveries returns those of the GUIDs that were never stored, in the order given.
func (s *Store) UnknownDeliveries(ctx context.Context, guids []string) (unknown []string, err error) {
	err = s.view(ctx, func(d *data) error {
		for _, guid := range guids {
			if _, known := d.deliveries[guid]; !known {
				unknown = append(unknown, guid)
			}
		}
		return nil
	})
	return unknown, err
}

// Healed is until when missed deliveries have been looked for; zero if they never were.
func (s *Store) Healed(ctx context.Context) (at time.Time, err error) {
	err = s.view(ctx, func(d *data) error {
		at = d.healed
		return nil
	})
	return at, err
}

// SetHealed notes until when missed deliveries have been looked for.
func (s *Store) SetHealed(ctx context.Context, at time.Time) error {
	return s.update(ctx, func(d *data) error {
		d.healed, d.changed = at, true
		return nil
	})
}

// RenewEffect asks for a newer version of a level-triggered effect. One of another
// kind, or dead, is left alone; [solve.ErrNotFound] if there is none.
func (s *Store) RenewEffect(ctx context.Context, k string) error {
	return s.update(ctx, func(d *data) error {
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		d.want(e.Effect)
		return nil
	})
}
