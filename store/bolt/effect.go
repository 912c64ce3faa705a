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
	var r effectRecord
	data := t.get(effects, []byte(k))
	if data == nil {
		return r, fmt.Errorf("effect %q: %w", k, solve.ErrNotFound)
	}
	return r, decode("effect "+k, data, &r)
}

// putEffect writes an effect and its place in the queue. old is nil for a new one.
func (t *tx) putEffect(old *effectRecord, r effectRecord) error {
	data, err := encode("effect "+r.Key, r)
	if err != nil {
		return err
	}
	t.put(effects, []byte(r.Key), data)
	if old != nil {
		if k := dueKey(old.Effect); k != nil {
			t.del(effectDue, k)
		}
	}
	if k := dueKey(r.Effect); k != nil {
		t.put(effectDue, k, []byte(r.Key))
	}
	return nil
}

// dueKey is nil for an effect that nobody needs to look at.
func dueKey(e solve.Effect) key {
	switch e.State {
	case solve.EffectPending:
		return append(key(nil).time(e.Due), e.Key...)
	case solve.EffectSending:
		return append(key(nil).time(e.Until), e.Key...)
	default:
		return nil
	}
}

// want queues an effect. One that is known is asked for again if it is
// level-triggered and not dead, and left alone otherwise.
func (t *tx) want(e solve.Effect, at time.Time) error {
	if t.get(effects, []byte(e.Key)) == nil {
		e.V, e.State, e.Wanted, e.Applied, e.Token = recordVersion, solve.EffectPending, 1, 0, 0
		if e.Due.IsZero() {
			e.Due = at
		}
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
	if !e.Kind.Level() || old.State == solve.EffectDead {
		return nil
	}
	r := old
	r.Wanted++
	if r.State == solve.EffectApplied {
		r.State, r.Due = solve.EffectPending, at
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
func (s *Store) DueEffects(ctx context.Context, now time.Time) ([]solve.Effect, error) {
	var list []effectRecord
	err := s.view(ctx, func(t *tx) error {
		return t.scan(effectDue, nil, func(k, v []byte) (bool, error) {
			if num(k) > stamp(now) {
				return false, nil
			}
			r, err := t.effect(string(v))
			list = append(list, r)
			return true, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list due effects: %w", err)
	}
	slices.SortFunc(list, func(a, b effectRecord) int {
		return cmp.Or(cmp.Compare(a.Repo.Installation, b.Repo.Installation),
			cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Order, b.Order))
	})
	out := make([]solve.Effect, 0, len(list))
	for _, r := range list {
		out = append(out, r.Effect)
	}
	return out, nil
}

// ClaimEffect gives a due effect to the node until the claim's end. SentAt and
// Error stay, so that the writer knows what was tried before.
func (s *Store) ClaimEffect(ctx context.Context, k, node string, now, until time.Time) (solve.Effect, error) {
	var claimed solve.Effect
	err := s.update(ctx, "claim-effect", func(t *tx) error {
		if err := t.mustLive(node, now); err != nil {
			return err
		}
		old, err := t.effect(k)
		if err != nil {
			return err
		}
		if due := dueKey(old.Effect); due == nil || num(due) > stamp(now) {
			return fmt.Errorf("effect %s is not due: %w", k, solve.ErrLeaseLost)
		}
		r := old
		r.State, r.Node, r.Until = solve.EffectSending, node, until
		r.Token++
		r.Tries++
		claimed = r.Effect
		return t.putEffect(&old, r)
	})
	if err != nil {
		return solve.Effect{}, fmt.Errorf("claim effect: %w", err)
	}
	return claimed, nil
}

// changeEffect lets the holder of a claim change it. The claim must be the newest, and its node live.
func (s *Store) changeEffect(ctx context.Context, op, k string, token uint64, at time.Time, fn func(*effectRecord) error) error {
	return s.update(ctx, op, func(t *tx) error {
		old, err := t.effect(k)
		if err != nil {
			return err
		}
		if old.State != solve.EffectSending || old.Token != token {
			return fmt.Errorf("effect %s, token %d, newest is %d: %w", k, token, old.Token, solve.ErrLeaseLost)
		}
		if err := t.mustLive(old.Node, at); err != nil {
			return err
		}
		r := old
		if err := fn(&r); err != nil {
			return err
		}
		return t.putEffect(&old, r)
	})
}

// SendingEffect notes that the call may be made from now on. It is refused when the claim has run out.
func (s *Store) SendingEffect(ctx context.Context, k string, token uint64, at time.Time) error {
	err := s.changeEffect(ctx, "send-effect", k, token, at, func(r *effectRecord) error {
		if !r.Until.After(at) {
			return fmt.Errorf("claim of effect %s has run out: %w", k, solve.ErrLeaseLost)
		}
		r.SentAt = at
		return nil
	})
	if err != nil {
		return fmt.Errorf("start sending: %w", err)
	}
	return nil
}

// FinishEffect stores what GitHub answered for a version.
func (s *Store) FinishEffect(ctx context.Context, k string, token, version uint64, got solve.Receipt, at, again time.Time) error {
	err := s.changeEffect(ctx, "finish-effect", k, token, at, func(r *effectRecord) error {
		r.free()
		r.Applied, r.Receipt, r.Done = version, got, at
		r.SentAt, r.Tries, r.Error = time.Time{}, 0, ""
		r.State = solve.EffectApplied
		if r.Wanted > version {
			r.State, r.Due = solve.EffectPending, again
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("finish effect: %w", err)
	}
	return nil
}

// RetryEffect makes the effect pending again. With unknown the time of the call stays.
func (s *Store) RetryEffect(ctx context.Context, k string, token uint64, due time.Time, reason string, unknown bool) error {
	err := s.changeEffect(ctx, "retry-effect", k, token, s.cfg.Now(), func(r *effectRecord) error {
		r.free()
		r.State, r.Due, r.Error = solve.EffectPending, due, reason
		if !unknown {
			r.SentAt = time.Time{}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("retry effect: %w", err)
	}
	return nil
}

// KillEffect ends the effect for good.
func (s *Store) KillEffect(ctx context.Context, k string, token uint64, reason string, at time.Time) error {
	err := s.changeEffect(ctx, "kill-effect", k, token, at, func(r *effectRecord) error {
		r.free()
		r.State, r.Error, r.Done, r.SentAt = solve.EffectDead, reason, at, time.Time{}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end effect: %w", err)
	}
	return nil
}

// free gives the claim up.
func (r *effectRecord) free() { r.Node, r.Until = "", time.Time{} }

// Effect returns one effect; [solve.ErrNotFound] if there is none.
func (s *Store) Effect(ctx context.Context, k string) (solve.Effect, error) {
	var r effectRecord
	err := s.view(ctx, func(t *tx) (err error) {
		r, err = t.effect(k)
		return err
	})
	return r.Effect, err
}

// SolveEffects are all effects of one solve, by key.
func (s *Store) SolveEffects(ctx context.Context, id solve.ID) ([]solve.Effect, error) {
	var out []solve.Effect
	err := s.view(ctx, func(t *tx) error {
		return t.scan(effects, []byte(string(id)+"/"), func(k, v []byte) (bool, error) {
			var r effectRecord
			err := decode("effect "+string(k), v, &r)
			out = append(out, r.Effect)
			return true, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list effects of solve %s: %w", id, err)
	}
	return out, nil
}
