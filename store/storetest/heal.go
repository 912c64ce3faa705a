package storetest

import (
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func healPromises() []Promise {
	return []Promise{
		{"deliveries that never came are told from those that did", unknownDeliveries},
		{"the time until when deliveries were looked for is kept", healedUntil},
		{"a write that shows a state can be asked for again", renewEffect},
	}
}

func unknownDeliveries(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	const first, second = "00000000-1111-11ee-8000-000000000001", "00000000-1111-41ee-8000-000000000002"
	wish := w.wish(repo(1))
	w.accept(first, solve.Intent{Solve: &wish})
	w.accept(second, solve.Intent{}) // asks for nothing, and came all the same
	got, err := s.UnknownDeliveries(w.ctx, []string{"z", first, "a", second, "m"})
	w.ok(err)
	w.same([]string{"z", "a", "m"}, got)
	got, err = s.UnknownDeliveries(w.ctx, nil)
	w.ok(err)
	w.same(0, len(got))
}

func healedUntil(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	got, err := s.Healed(w.ctx)
	w.ok(err)
	if !got.IsZero() {
		t.Errorf("a new store was looked through until %v", got)
	}
	for range 2 {
		at := w.tick()
		w.ok(s.SetHealed(w.ctx, at))
		got, err = s.Healed(w.ctx)
		w.ok(err)
		if !got.Equal(at) {
			t.Errorf("kept %v, want %v", got, at)
		}
	}
}

func renewEffect(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	w.want(one())
	w.ok(s.RenewEffect(w.ctx, "a/comment")) // it waits: the newest version is written anyway
	w.write(n1, "a/comment")
	w.same(solve.EffectApplied, w.effect("a/comment").State)
	before := w.effect("a/comment")
	w.tick()
	w.ok(s.RenewEffect(w.ctx, "a/comment"))
	got := w.effect("a/comment")
	if got.State != solve.EffectPending || got.Wanted != before.Wanted+1 || !got.Due.IsZero() || got.Receipt != before.Receipt || !got.SentAt.IsZero() {
		t.Errorf("the renewed effect is %+v", got)
	}
	w.same(1, len(w.due()))

	// While a version is being written, another is written after it.
	e := w.claimEffect(n1, "a/comment")
	w.ok(s.RenewEffect(w.ctx, e.Key))
	w.ok(s.FinishEffect(w.ctx, e.Key, e.Token, e.Wanted, solve.Receipt{ID: 5}))
	w.same(solve.EffectPending, w.effect(e.Key).State)

	// A dead one stays dead, and what is written once is not written twice.
	e = w.claimEffect(n1, e.Key)
	w.ok(s.KillEffect(w.ctx, e.Key, e.Token, "403"))
	w.want(solve.Effect{Key: "b/result", Kind: solve.EffectFinal, Repo: repo(1), Issue: 3})
	w.write(n1, "b/result")
	for _, k := range []string{"a/comment", "b/result"} {
		before := w.effect(k)
		w.ok(s.RenewEffect(w.ctx, k))
		w.same(before, w.effect(k))
	}
	w.is(s.RenewEffect(w.ctx, "none"), solve.ErrNotFound)
}
