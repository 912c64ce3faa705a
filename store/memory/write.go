package memory

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// ClaimEffect gives a due effect to the node for the time ttl.
func (s *Store) ClaimEffect(ctx context.Context, k, node string, ttl time.Duration) (claimed solve.Effect, err error) {
	err = s.update(ctx, func(d *data) error {
		now := s.now()
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		if !d.alive(node, now) {
			return lost("claim effect %s: node %q", k, node)
		}
		claimed, err = e.Claim(node, now, now.Add(ttl))
		if err == nil {
			set(d, d.effects, k, effect{claimed, e.order})
		}
		return err
	})
	return claimed, err
}

// held lets the holder of a claim change the effect. The claim must be the
// newest, and its node live.
func (s *Store) held(ctx context.Context, k string, token uint64, fn func(e solve.Effect, now time.Time) (solve.Effect, error)) error {
	return s.update(ctx, func(d *data) error {
		now := s.now()
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		if err := e.CheckClaim(token, reader{d, now}.Alive); err != nil {
			return err
		}
		after, err := fn(e.Effect, now)
		if err == nil {
			set(d, d.effects, k, effect{after, e.order})
		}
		return err
	})
}

// SendingEffect notes that the call may be made from now on. It is refused when the claim has run out.
func (s *Store) SendingEffect(ctx context.Context, k string, token uint64) error {
	return s.held(ctx, k, token, solve.Effect.Sending)
}

// FinishEffect stores what GitHub answered for a version.
func (s *Store) FinishEffect(ctx context.Context, k string, token, version uint64, got solve.Receipt) error {
	return s.held(ctx, k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) { return e.Finish(version, got, now), nil })
}

// RetryEffect makes the effect pending again. With unknown the time of the call stays.
func (s *Store) RetryEffect(ctx context.Context, k string, token uint64, wait time.Duration, reason string, unknown bool) error {
	return s.held(ctx, k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		return e.Retry(now.Add(wait), reason, unknown), nil
	})
}

// KillEffect ends the effect for good.
func (s *Store) KillEffect(ctx context.Context, k string, token uint64, reason string) error {
	return s.held(ctx, k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) { return e.Kill(reason, now), nil })
}

// WithdrawEffect ends a pending effect whose call was never made; of any other
// it changes nothing and returns false.
func (s *Store) WithdrawEffect(ctx context.Context, k, reason string) (done bool, err error) {
	err = s.update(ctx, func(d *data) error {
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		var after solve.Effect
		if after, done = e.Withdraw(reason, s.now()); done {
			set(d, d.effects, k, effect{after, e.order})
		}
		return nil
	})
	return done, err
}
