package bolt

import (
	"context"
	"fmt"
	"time"
)

// healed is the name in bucket meta of the time until when deliveries were looked for.
const healed = "healed"

// UnknownDeliveries returns those of the GUIDs that were never stored, or are no
// longer kept, in the order given.
func (s *Store) UnknownDeliveries(ctx context.Context, guids []string) ([]string, error) {
	var unknown []string
	err := s.view(ctx, func(t *tx) error {
		for _, guid := range guids {
			if t.get(deliveries, guidKey(guid)) == nil {
				unknown = append(unknown, guid)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for deliveries: %w", err)
	}
	return unknown, nil
}

// Healed is until when missed deliveries have been looked for; zero if they never were.
func (s *Store) Healed(ctx context.Context) (time.Time, error) {
	var at time.Time
	err := s.view(ctx, func(t *tx) error {
		at = timeOf(num(t.get(meta, []byte(healed))))
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("read when missed deliveries were looked for: %w", err)
	}
	return at, nil
}

// SetHealed notes until when missed deliveries have been looked for.
func (s *Store) SetHealed(ctx context.Context, at time.Time) error {
	err := s.update(ctx, "healed", func(t *tx) error {
		t.put(meta, []byte(healed), key(nil).time(at))
		return nil
	})
	if err != nil {
		return fmt.Errorf("note when missed deliveries were looked for: %w", err)
	}
	return nil
}

// RenewEffect asks for a newer version of a level-triggered effect. One of another
// kind, or dead, is left alone; [solve.ErrNotFound] if there is none.
func (s *Store) RenewEffect(ctx context.Context, k string) error {
	err := s.update(ctx, "renew-effect", func(t *tx) error {
		old, err := t.effect(k)
		if err != nil {
			return err
		}
		return t.want(old.Effect, s.cfg.Now())
	})
	if err != nil {
		return fmt.Errorf("renew effect: %w", err)
	}
	return nil
}
