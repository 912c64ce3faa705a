package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// aged is an effect with the order in which effects came to be wanted.
type aged struct {
	solve.Effect
	age int64
}

func scanAged(row pgx.Row) (a aged, err error) {
	var data []byte
	if err = row.Scan(&a.age, &data); err == nil {
		err = json.Unmarshal(data, &a.Effect)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = solve.ErrNotFound
	}
	return a, err
}

func (t *tx) effect(k string) (aged, error) {
	a, err := scanAged(t.db.QueryRow(t.ctx, t.locked("select age, record from effect where key = $1"), k))
	return a, named(err, "effect", k)
}

func look(e solve.Effect) *int64 {
	at, ok := e.NextLook()
	if !ok {
		return nil
	}
	n := stamp(at)
	return &n
}

func (t *tx) putEffect(a aged) error {
	record, err := encode(a.Effect)
	if err == nil {
		_, err = t.do("update effect set age = $2, look = $3, record = $4 where key = $1", a.Key, a.age, look(a.Effect), record)
	}
	return named(err, "write effect", a.Key)
}

// want queues an effect. One that is known is asked for again if it is
// level-triggered and not dead, and left alone otherwise.
func (t *tx) want(e solve.Effect) error {
	old, err := t.effect(e.Key)
	if errors.Is(err, solve.ErrNotFound) {
		return t.wantFirst(e.First())
	}
	if err != nil {
		return err
	}
	after, changed := old.Again()
	if !changed {
		return nil
	}
	if old.State == solve.EffectApplied { // it joins the queue anew
		if err := t.get("select nextval('effect_age')", nil, &old.age); err != nil {
			return err
		}
	}
	return t.putEffect(aged{after, old.age})
}

// wantFirst stores a new effect. The outcome of one whose owner is doubted is unknown.
func (t *tx) wantFirst(e solve.Effect) error {
	owner, _, _ := strings.Cut(e.Key, "/")
	var at int64
	switch err := t.get("select at from doubt where owner = $1", []any{owner}, &at); {
	case err == nil:
		e.SentAt = timeOf(at)
	case !errors.Is(err, solve.ErrNotFound):
		return err
	}
	record, err := encode(e)
	if err != nil {
		return err
	}
	n, err := t.do("insert into effect (key, age, look, record) values ($1, nextval('effect_age'), $2, $3) on conflict do nothing",
		e.Key, look(e), record)
	if err == nil && n == 0 {
		err = errAgain
	}
	return err
}

// DueEffects returns what is to be written now, by installation, priority, age.
func (s *Store) DueEffects(ctx context.Context) ([]solve.Effect, error) {
	var list []aged
	err := s.view(ctx, func(t *tx) error {
		rows, err := t.db.Query(t.ctx, "select age, record from effect where look <= $1", stamp(t.now()))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (aged, error) { return scanAged(row) })
		return err
	})
	slices.SortFunc(list, func(a, b aged) int {
		return cmp.Or(solve.CompareDue(a.Effect, b.Effect), cmp.Compare(a.age, b.age))
	})
	out := make([]solve.Effect, len(list))
	for i, a := range list {
		out[i] = a.Effect
	}
	return out, err
}

// Effect returns one effect; [solve.ErrNotFound] if there is none.
func (s *Store) Effect(ctx context.Context, k string) (out solve.Effect, err error) {
	err = s.view(ctx, func(t *tx) error {
		a, err := t.effect(k)
		out = a.Effect
		return err
	})
	return out, err
}

// SolveEffects are all effects of one solve, by key.
func (s *Store) SolveEffects(ctx context.Context, id solve.ID) (out []solve.Effect, err error) {
	err = s.view(ctx, func(t *tx) error {
		after := string(rune('/' + 1))
		out, err = all[solve.Effect](t, "select record from effect where key > $1 and key < $2 order by key", id+"/", string(id)+after)
		return err
	})
	return out, err
}

// changeEffect lets fn change an effect that nobody else can change meanwhile.
func (s *Store) changeEffect(
	ctx context.Context, k string, fn func(t *tx, e solve.Effect) (solve.Effect, error),
) (after solve.Effect, err error) {
	err = s.update(ctx, func(t *tx) error {
		old, err := t.effect(k)
		if err != nil {
			return err
		}
		if after, err = fn(t, old.Effect); err != nil || after == old.Effect {
			return err
		}
		return t.putEffect(aged{after, old.age})
	})
	return after, err
}

// ClaimEffect gives a due effect to the node for the time ttl.
func (s *Store) ClaimEffect(ctx context.Context, k, node string, ttl time.Duration) (solve.Effect, error) {
	return s.changeEffect(ctx, k, func(t *tx, e solve.Effect) (solve.Effect, error) {
		if err := t.mustLive(node); err != nil {
			return e, err
		}
		e, err := e.Claim(node, t.now(), t.now().Add(ttl))
		e.Token = t.token(e.Token)
		return e, err
	})
}

// changeClaimed lets the holder of a claim change its effect. The claim must be the newest, and its node live.
func (s *Store) changeClaimed(
	ctx context.Context, k string, token uint64, fn func(e solve.Effect, now time.Time) (solve.Effect, error),
) error {
	_, err := s.changeEffect(ctx, k, func(t *tx, e solve.Effect) (solve.Effect, error) {
		if err := e.CheckClaim(token, t.alive); err != nil {
			return e, err
		}
		return fn(e, t.now())
	})
	return err
}

// SendingEffect notes that the call may be made from now on. It is refused when the claim has run out.
func (s *Store) SendingEffect(ctx context.Context, k string, token uint64) error {
	return s.changeClaimed(ctx, k, token, solve.Effect.Sending)
}

// FinishEffect stores what GitHub answered for a version.
func (s *Store) FinishEffect(ctx context.Context, k string, token, version uint64, got solve.Receipt) error {
	return s.changeClaimed(ctx, k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		return e.Finish(version, got, now), nil
	})
}

// RetryEffect makes the effect pending again, due after the time wait. With unknown the time of the call stays.
func (s *Store) RetryEffect(ctx context.Context, k string, token uint64, wait time.Duration, reason string, unknown bool) error {
	return s.changeClaimed(ctx, k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		return e.Retry(now.Add(wait), reason, unknown), nil
	})
}

// KillEffect ends the effect for good.
func (s *Store) KillEffect(ctx context.Context, k string, token uint64, reason string) error {
	return s.changeClaimed(ctx, k, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		return e.Kill(reason, now), nil
	})
}

// WithdrawEffect ends a pending effect whose call was never made; of any other it
// changes nothing and returns false.
func (s *Store) WithdrawEffect(ctx context.Context, k, reason string) (done bool, err error) {
	_, err = s.changeEffect(ctx, k, func(t *tx, e solve.Effect) (solve.Effect, error) {
		e, done = e.Withdraw(reason, t.now())
		return e, nil
	})
	return done && err == nil, err
}

// RenewEffect asks for a newer version of a level-triggered effect. One of another
// kind, or dead, is left alone; [solve.ErrNotFound] if there is none.
func (s *Store) RenewEffect(ctx context.Context, k string) error {
	return s.update(ctx, func(t *tx) error {
		a, err := t.effect(k)
		if err != nil {
			return err
		}
		return t.want(a.Effect)
	})
}
