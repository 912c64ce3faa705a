package storetest

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func effectPromises() []Promise {
	return []Promise{
		{"due effects come by installation, priority and age", effectOrder},
		{"one writer holds an effect, until its claim runs out", effectClaim},
		{"a version asked for while one is written is written next", effectNewer},
		{"an unknown outcome is remembered", effectUnknown},
		{"a refused effect is never tried again", effectDead},
		{"a former writer's answer changes nothing", effectFenced},
		{"a clock that jumps back puts no effect off", effectClockBack},
		{"only an effect that nobody began is withdrawn", effectWithdraw},
	}
}

func (w *world) due() []solve.Effect {
	w.Helper()
	list, err := w.s.DueEffects(w.ctx)
	w.ok(err)
	return list
}

func (w *world) effect(k string) solve.Effect {
	w.Helper()
	e, err := w.s.Effect(w.ctx, k)
	w.ok(err)
	return e
}

func (w *world) claimEffect(node, k string) solve.Effect {
	w.Helper()
	e, err := w.s.ClaimEffect(w.ctx, k, node, 30*time.Second)
	w.ok(err)
	return e
}

// write does all steps of a write that succeeds.
func (w *world) write(node, k string) {
	w.Helper()
	e := w.claimEffect(node, k)
	w.ok(w.s.SendingEffect(w.ctx, k, e.Token))
	w.ok(w.s.FinishEffect(w.ctx, k, e.Token, e.Wanted, solve.Receipt{ID: 5}))
}

// want queues effects by answering an ask.
func (w *world) want(list ...solve.Effect) {
	w.Helper()
	w.n++
	guid := "guid" + string(rune('a'+w.n))
	w.accept(guid, solve.Intent{Command: &solve.Command{ID: guid, Kind: solve.CommandHelp, At: w.now}})
	w.ok(w.s.Answer(w.ctx, guid, list))
}

func effectOrder(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	mk := func(k string, inst int64, kind solve.EffectKind) solve.Effect {
		r := repo(1)
		r.Installation = inst
		return solve.Effect{Key: k, Kind: kind, Repo: r, Priority: solve.Priority(kind)}
	}
	w.want(mk("c/x", 2, solve.EffectReply), mk("z/x", 1, solve.EffectReply), mk("b/x", 1, solve.EffectNotice))
	w.want(mk("a/x", 1, solve.EffectReply), mk("d/x", 1, solve.EffectFinal))
	var keys []string
	for _, e := range w.due() {
		keys = append(keys, e.Key)
	}
	w.same([]string{"d/x", "z/x", "a/x", "b/x", "c/x"}, keys)
	// A retry does not make an effect younger.
	e := w.claimEffect(w.node("n1"), "z/x")
	w.ok(s.RetryEffect(w.ctx, e.Key, e.Token, 0, "again", false))
	w.same("z/x", w.due()[1].Key)
}

func one() solve.Effect {
	return solve.Effect{Key: "a/comment", Kind: solve.EffectNotice, Repo: repo(1), Issue: 3}
}

func effectClaim(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1, n2 := w.node("n1"), w.node("n2")
	w.want(one())
	e := w.claimEffect(n1, "a/comment")
	if e.State != solve.EffectSending || e.Token != 1 || e.Node != n1 || !e.Until.Equal(w.now.Add(30*time.Second)) {
		t.Errorf("the claimed effect is %+v", e)
	}
	w.same(e, w.effect("a/comment"))
	w.same(0, len(w.due()))
	_, err := s.ClaimEffect(w.ctx, "a/comment", n2, time.Minute)
	w.is(err, solve.ErrLeaseLost)
	w.ok(s.SendingEffect(w.ctx, "a/comment", 1))
	sent := w.now
	w.now = w.now.Add(30 * time.Second)
	w.same(1, len(w.due()))
	again := w.claimEffect(n2, "a/comment")
	if again.Token != 2 || again.Node != n2 || !again.SentAt.Equal(sent) {
		t.Errorf("the effect claimed again is %+v", again)
	}
	_, err = s.ClaimEffect(w.ctx, "none", n1, 0)
	w.is(err, solve.ErrNotFound)
}

func effectNewer(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	w.want(one())
	e := w.claimEffect(n1, "a/comment")
	w.ok(s.SendingEffect(w.ctx, e.Key, e.Token))
	w.want(one())
	if got := w.effect(e.Key); got.State != solve.EffectSending || got.Wanted != 2 {
		t.Errorf("an effect being written became %+v", got)
	}
	w.tick()
	w.ok(s.FinishEffect(w.ctx, e.Key, e.Token, 1, solve.Receipt{ID: 8}))
	got := w.effect(e.Key)
	if got.State != solve.EffectPending || got.Applied != 1 || !got.Due.IsZero() || got.Receipt.ID != 8 || !got.SentAt.IsZero() || got.Node != "" {
		t.Errorf("after the first version: %+v", got)
	}
	w.same(1, len(w.due()))
	e = w.claimEffect(n1, e.Key)
	w.ok(s.FinishEffect(w.ctx, e.Key, e.Token, 2, solve.Receipt{ID: 8}))
	got = w.effect(e.Key)
	if got.State != solve.EffectApplied || got.Applied != 2 || !got.Done.Equal(w.now) || got.Tries != 0 {
		t.Errorf("after the second version: %+v", got)
	}
	w.now = w.now.Add(time.Hour)
	w.same(0, len(w.due()))
}

// effectClockBack looks after each way to become due at once.
func effectClockBack(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	back := func(when string) solve.Effect {
		t.Helper()
		w.now = w.now.Add(-time.Hour)
		if len(w.due()) != 1 {
			t.Fatalf("not due an hour back: %s", when)
		}
		return w.claimEffect(n1, "a/comment")
	}
	w.want(one())
	e := back("a new one")
	w.want(one())
	w.ok(s.FinishEffect(w.ctx, e.Key, e.Token, 1, solve.Receipt{ID: 8}))
	e = back("a newer version, asked for while one was written")
	w.ok(s.FinishEffect(w.ctx, e.Key, e.Token, 2, solve.Receipt{ID: 8}))
	w.want(one())
	back("one that was applied")
}

func effectUnknown(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	w.want(one())
	for i, unknown := range []bool{true, false} {
		e := w.claimEffect(n1, "a/comment")
		w.same(i+1, e.Tries)
		w.ok(s.SendingEffect(w.ctx, e.Key, e.Token))
		sent := w.now
		due := w.now.Add(time.Minute)
		w.ok(s.RetryEffect(w.ctx, e.Key, e.Token, time.Minute, "broken pipe", unknown))
		got := w.effect(e.Key)
		if got.State != solve.EffectPending || !got.Due.Equal(due) || got.Error != "broken pipe" || got.Node != "" {
			t.Errorf("the effect to retry is %+v", got)
		}
		if unknown != got.SentAt.Equal(sent) || !unknown && !got.SentAt.IsZero() {
			t.Errorf("unknown %v left sent at %v", unknown, got.SentAt)
		}
		w.same(0, len(w.due()))
		w.now = due
		w.same(1, len(w.due()))
	}
}

func effectDead(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	w.want(one())
	e := w.claimEffect(n1, "a/comment")
	w.ok(s.KillEffect(w.ctx, e.Key, e.Token, "403"))
	w.want(one())
	got := w.effect(e.Key)
	if got.State != solve.EffectDead || got.Error != "403" || got.Wanted != 1 {
		t.Errorf("the dead effect is %+v", got)
	}
	w.now = w.now.Add(time.Hour)
	w.same(0, len(w.due()))
	_, err := s.ClaimEffect(w.ctx, e.Key, w.node("n2"), time.Minute)
	w.is(err, solve.ErrLeaseLost)
}

func effectFenced(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1, n2 := w.node("n1"), w.node("n2")
	w.want(one())
	k := "a/comment"
	old := w.claimEffect(n1, k)
	w.now = w.now.Add(30 * time.Second)
	w.is(s.SendingEffect(w.ctx, k, old.Token), solve.ErrLeaseLost) // run out, nobody else's yet
	mine := w.claimEffect(n2, k)
	stale := func(token uint64) {
		t.Helper()
		before := w.effect(k)
		w.is(s.SendingEffect(w.ctx, k, token), solve.ErrLeaseLost)
		w.is(s.FinishEffect(w.ctx, k, token, 1, solve.Receipt{ID: 1}), solve.ErrLeaseLost)
		w.is(s.RetryEffect(w.ctx, k, token, 0, "x", false), solve.ErrLeaseLost)
		w.is(s.KillEffect(w.ctx, k, token, "x"), solve.ErrLeaseLost)
		w.same(before, w.effect(k))
	}
	stale(old.Token)
	stale(0)
	w.ok(s.FinishEffect(w.ctx, k, mine.Token, 1, solve.Receipt{ID: 1}))
	stale(mine.Token)
	w.want(one())
	left := w.claimEffect(n1, k)
	w.ok(s.Leave(w.ctx, n1))
	stale(left.Token)
}

func effectWithdraw(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	k := "a/comment"
	withdraw := func(want bool) {
		t.Helper()
		before := w.effect(k)
		got, err := s.WithdrawEffect(w.ctx, k, "cancelled")
		w.ok(err)
		w.same(want, got)
		if !want {
			w.same(before, w.effect(k))
		}
	}
	w.want(one())
	e := w.claimEffect(n1, k)
	withdraw(false)
	w.ok(s.SendingEffect(w.ctx, k, e.Token))
	w.ok(s.RetryEffect(w.ctx, k, e.Token, 0, "broken pipe", true))
	withdraw(false) // the call may have been made
	e = w.claimEffect(n1, k)
	w.ok(s.RetryEffect(w.ctx, k, e.Token, 0, "503", false))
	withdraw(true)
	if got := w.effect(k); got.State != solve.EffectDead || got.Error != "cancelled" || !got.Done.Equal(w.now) {
		t.Errorf("the withdrawn effect is %+v", got)
	}
	w.same(0, len(w.due()))
	withdraw(false)
	_, err := s.WithdrawEffect(w.ctx, "none", "cancelled")
	w.is(err, solve.ErrNotFound)
}
