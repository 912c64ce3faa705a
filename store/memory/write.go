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
		claimed, err = e.Claim(node, now, until)
		if err == nil {
			set(d, d.effects, k, effect{claimed, e.order})
		}
		return err
	})
	return claimed, err
}

// held lets the holder of a claim change the effect. The claim must be the
// newest, and its node live.
func (s *Store) held(ctx context.Context, k string, token uint64, at time.Time, fn func(solve.Effect) (solve.Effect, error)) error {
	return s.update(ctx, func(d *data) error {
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		if err := e.CheckClaim(token, reader{d, at}.Alive); err != nil {
			return err
		}
		after, err := fn(e.Effect)
		if err == nil {
			set(d, d.effects, k, effect{after, e.order})
		}
		return err
	})
}

// SendingEffect notes that the call may be made from now on. It is refused when the claim has run out.
func (s *Store) SendingEffect(ctx context.Context, k string, token uint64, at time.Time) error {
	return s.held(ctx, k, token, at, func(e solve.Effect) (solve.Effect, error) { return e.Sending(at) })
}

// FinishEffect stores what GitHub answered for a version.
func (s *Store) FinishEffect(ctx context.Context, k string, token, version uint64, got solve.Receipt, at, again time.Time) error {
	return s.held(ctx, k, token, at, func(e solve.Effect) (solve.Effect, error) { return e.Finish(version, got, at, again), nil })
}

// RetryEffect makes the effect pending again. With unknown the time of the call stays.
func (s *Store) RetryEffect(ctx context.Context, k string, token uint64, due time.Time, reason string, unknown bool) error {
	return s.held(ctx, k, token, s.now(), func(e solve.Effect) (solve.Effect, error) { return e.Retry(due, reason, unknown), nil })
}

// KillEffect ends the effect for good.
func (s *Store) KillEffect(ctx context.Context, k string, token uint64, reason string, at time.Time) error {
	return s.held(ctx, k, token, at, func(e solve.Effect) (solve.Effect, error) { return e.Kill(reason, at), nil })
}

// WithdrawEffect ends a pending effect whose call was never made; of any other
// it changes nothing and returns false.
func (s *Store) WithdrawEffect(ctx context.Context, k, reason string, at time.Time) (done bool, err error) {
	err = s.update(ctx, func(d *data) error {
		e, err := d.effect(k)
		if err != nil {
			return err
		}
		var after solve.Effect
		if after, done = e.Withdraw(reason, at); done {
			set(d, d.effects, k, effect{after, e.order})
		}
		return nil
	})
	return done, err
}
