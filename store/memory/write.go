package memory

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// ClaimEffect gives a due effect to the node until the claim's end.
func (s *Store) ClaimEffect(ctx context.Context, k, node string, now, until time.Time) (claimed solve.Effect, err error) {
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("claim effect %s: node %q", k, node)
		}
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		if !isDue(e.Effect, now) {
			return lost("claim effect %s: it is not due", k)
		}
		e.State, e.Node, e.Until = solve.EffectSending, node, until
		e.Token++
		e.Tries++
		set(d, d.effects, k, e)
		claimed = e.Effect
		return nil
	})
	return claimed, err
}

// held lets the holder of a claim change the effect. The claim must be the
// newest, and its node live.
func (s *Store) held(ctx context.Context, k string, token uint64, at time.Time, fn func(*solve.Effect) error) error {
	return s.update(ctx, func(d *data) error {
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		if e.State != solve.EffectSending || e.Token != token || !d.alive(e.Node, at) {
			return lost("effect %s, token %d of %d", k, token, e.Token)
		}
		if err := fn(&e.Effect); err != nil {
			return err
		}
		set(d, d.effects, k, e)
		return nil
	})
}

// SendingEffect notes that the call may be made from now on. It is refused when the claim has run out.
func (s *Store) SendingEffect(ctx context.Context, k string, token uint64, at time.Time) error {
	return s.held(ctx, k, token, at, func(e *solve.Effect) error {
		if !e.Until.After(at) {
			return lost("claim of effect %s has run out", k)
		}
		e.SentAt = at
		return nil
	})
}

// FinishEffect stores what GitHub answered for a version.
func (s *Store) FinishEffect(ctx context.Context, k string, token, version uint64, got solve.Receipt, at, again time.Time) error {
	return s.held(ctx, k, token, at, func(e *solve.Effect) error {
		e.Node, e.Until, e.SentAt = "", time.Time{}, time.Time{}
		e.State, e.Applied, e.Receipt, e.Done = solve.EffectApplied, version, got, at
		e.Tries, e.Error = 0, ""
		if e.Wanted > version {
			e.State, e.Due = solve.EffectPending, again
		}
		return nil
	})
}

// RetryEffect makes the effect pending again. With unknown the time of the call stays.
func (s *Store) RetryEffect(ctx context.Context, k string, token uint64, due time.Time, reason string, unknown bool) error {
	return s.held(ctx, k, token, s.now(), func(e *solve.Effect) error {
		e.Node, e.Until = "", time.Time{}
		e.State, e.Due, e.Error = solve.EffectPending, due, reason
		if !unknown {
			e.SentAt = time.Time{}
		}
		return nil
	})
}

// KillEffect ends the effect for good.
func (s *Store) KillEffect(ctx context.Context, k string, token uint64, reason string, at time.Time) error {
	return s.held(ctx, k, token, at, func(e *solve.Effect) error {
		e.Node, e.Until, e.SentAt = "", time.Time{}, time.Time{}
		e.State, e.Error, e.Done = solve.EffectDead, reason, at
		return nil
	})
}

// WithdrawEffect ends a pending effect whose call was never made; of any other
// it changes nothing and returns false.
func (s *Store) WithdrawEffect(ctx context.Context, k, reason string, at time.Time) (done bool, err error) {
	err = s.update(ctx, func(d *data) error {
		e, err := d.effect(k)
		if err != nil || e.State != solve.EffectPending || !e.SentAt.IsZero() {
			return err
		}
		e.State, e.Error, e.Done = solve.EffectDead, reason, at
		set(d, d.effects, k, e)
		done = true
		return nil
	})
	return done, err
}
