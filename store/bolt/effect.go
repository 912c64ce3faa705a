package bolt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func (t *tx) effect(k string) (effectRecord, error) {
	data := t.get(effects, []byte(k))
	if data == nil {
		return effectRecord{}, fmt.Errorf("effect %q: %w", k, solve.ErrNotFound)
	}
	return decode[effectRecord]("effect "+k, data)
}

// putEffect writes an effect and its place in the queue. old is nil for a new one.
func (t *tx) putEffect(old *effectRecord, r effectRecord) error {
	if old != nil {
		if k := dueKey(old.Effect); k != nil {
			t.del(effectDue, k)
		}
	}
	if k := dueKey(r.Effect); k != nil {
		t.put(effectDue, k, []byte(r.Key))
	}
	return t.putRecord(effects, []byte(r.Key), "effect "+r.Key, r)
}

// dueKey is nil for an effect that nobody needs to look at.
func dueKey(e solve.Effect) key {
	if at, ok := e.NextLook(); ok {
		return append(key(nil).time(at), e.Key...)
	}
	return nil
}

// want queues an effect. One that is known is asked for again if it is
// level-triggered and not dead, and left alone otherwise.
func (t *tx) want(e solve.Effect) error {
	if t.get(effects, []byte(e.Key)) == nil {
		e = e.First()
		t.doubt(&e)
		order, err := t.nextOrder()
		if err != nil {
			return err
		}
		return t.putEffect(nil, effectRecord{Effect: e, Order: order})
	}
	old, err := t.effect(e.Key)
	if err != nil {
		return err
	}
	r, changed := old, false
	if r.Effect, changed = old.Again(); !changed {
		return nil
	}
	if old.State == solve.EffectApplied { // it joins the queue anew
		if r.Order, err = t.nextOrder(); err != nil {
			return err
		}
	}
	return t.putEffect(&old, r)
}

func (t *tx) nextOrder() (uint64, error) {
	n, err := t.bucket(effects).NextSequence()
	t.dirty = true
	if err != nil {
		return 0, fmt.Errorf("number an effect: %w", err)
	}
	return n, nil
}

// DueEffects returns what is to be written now, by installation, priority, age.
func (s *Store) DueEffects(ctx context.Context) ([]solve.Effect, error) {
	list, err := read(ctx, s, func(t *tx) (list []effectRecord, err error) {
		now := stamp(s.cfg.Now())
		for at, k := range t.scan(effectDue, nil) {
			if num(at) > now {
				break
			}
			r, err := t.effect(string(k))
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
		return list, nil
	})
	slices.SortFunc(list, func(a, b effectRecord) int {
		return cmp.Or(solve.CompareDue(a.Effect, b.Effect), cmp.Compare(a.Order, b.Order))
	})
	return effectsOf(list), err
}

func effectsOf(list []effectRecord) []solve.Effect {
	out := make([]solve.Effect, len(list))
	for i, r := range list {
		out[i] = r.Effect
	}
	return out
}

// changeWaiting lets fn change each effect that somebody has to look at, now or later.
func (t *tx) changeWaiting(fn func(solve.Effect) solve.Effect) error {
	var waiting []string
	for _, k := range t.scan(effectDue, nil) {
		waiting = append(waiting, string(k))
	}
	for _, k := range waiting {
		old, err := t.effect(k)
		if err != nil {
			return err
		}
		if after := fn(old.Effect); after != old.Effect {
			if err := t.putEffect(&old, effectRecord{after, old.Order}); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeEffect lets fn change an effect at the engine's time.
func (s *Store) changeEffect(
	ctx context.Context, op, k string, fn func(r reader, e solve.Effect) (solve.Effect, error),
) (solve.Effect, error) {
	return write(ctx, s, op, func(t *tx) (solve.Effect, error) {
		old, err := t.effect(k)
		if err != nil {
			return solve.Effect{}, err
		}
		after, err := fn(reader{t, s.cfg.Now()}, old.Effect)
		if err != nil {
			return solve.Effect{}, err
		}
		return after, t.putEffect(&old, effectRecord{after, old.Order})
	})
}

// ClaimEffect gives a due effect to the node for the time ttl.
func (s *Store) ClaimEffect(ctx context.Context, k, node string, ttl time.Duration) (solve.Effect, error) {
	return s.changeEffect(ctx, "claim-effect", k, func(r reader, e solve.Effect) (solve.Effect, error) {
		if err := r.mustLive(node, r.at); err != nil {
			return e, err
		}
		return e.Claim(node, r.at, r.at.Add(ttl))
	})
}

// changeClaimed lets the holder of a claim change its effect. The claim must be the newest, and its node live.
func (s *Store) changeClaimed(
	ctx context.Context, op, k string, token uint64, fn func(e solve.Effect, now time.Time) (solve.Effect, error),
) error {
	_, err := s.changeEffect(ctx, op, k, func(r reader, e solve.Effect) (solve.Effect, error) {
		if err := e.CheckClaim(token, r.Alive); err != nil {
			return e, err
		}
		return fn(e, r.at)
	})
	return err
}

// SendingEffect notes that the call may be made from now on. It is refused when the claim has run out.
func (s *Store) SendingEffect(ctx context.Context, k string, token uint64) error {
	return s.changeClaimed(ctx, "send-effect", k, token, solve.Effect.Sending)
}

// FinishEffect stores what GitHub answered for a version.
func (s *Store) FinishEffect(ctx context.Context, k string, token, version uint64, got solve.Receipt) error {
	return s.changeClaimed(ctx, "finish-effect", k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		return e.Finish(version, got, now), nil
	})
}

// RetryEffect makes the effect pending again, due after the time wait. With unknown the time of the call stays.
func (s *Store) RetryEffect(ctx context.Context, k string, token uint64, wait time.Duration, reason string, unknown bool) error {
	return s.changeClaimed(ctx, "retry-effect", k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		return e.Retry(now.Add(wait), reason, unknown), nil
	})
}

// KillEffect ends the effect for good.
func (s *Store) KillEffect(ctx context.Context, k string, token uint64, reason string) error {
	return s.changeClaimed(ctx, "kill-effect", k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		return e.Kill(reason, now), nil
	})
}

// WithdrawEffect ends a write that nobody has begun: pending, and its call never
// made. It returns false, and changes nothing, for one that is being written,
// whose outcome is unknown, or that is over.
func (s *Store) WithdrawEffect(ctx context.Context, k, reason string) (bool, error) {
	return write(ctx, s, "withdraw-effect", func(t *tx) (bool, error) {
		old, err := t.effect(k)
		if err != nil {
			return false, err
		}
		after, done := old.Withdraw(reason, s.cfg.Now())
		if !done {
			return false, nil
		}
		return true, t.putEffect(&old, effectRecord{after, old.Order})
	})
}

// RenewEffect asks for a newer version of a level-triggered effect. One of another
// kind, or dead, is left alone; [solve.ErrNotFound] if there is none.
func (s *Store) RenewEffect(ctx context.Context, k string) error {
	return s.update(ctx, "renew-effect", func(t *tx) error {
		old, err := t.effect(k)
		if err != nil {
			return err
		}
		return t.want(old.Effect)
	})
}

// Effect returns one effect; [solve.ErrNotFound] if there is none.
func (s *Store) Effect(ctx context.Context, k string) (solve.Effect, error) {
	r, err := read(ctx, s, func(t *tx) (effectRecord, error) { return t.effect(k) })
	return r.Effect, err
}

// SolveEffects are all effects of one solve, by key.
func (s *Store) SolveEffects(ctx context.Context, id solve.ID) ([]solve.Effect, error) {
	return s.effectsWith(ctx, string(id)+"/")
}

// effectsWith are the effects whose keys begin with the prefix.
func (s *Store) effectsWith(ctx context.Context, prefix string) ([]solve.Effect, error) {
	list, err := read(ctx, s, func(t *tx) ([]effectRecord, error) {
		return decodeAll[effectRecord](t, func(k []byte) string { return "effect " + string(k) }, effects, []byte(prefix))
	})
	return effectsOf(list), err
}
