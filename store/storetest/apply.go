package storetest

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func applyPromises() []Promise {
	return []Promise{
		{"a change writes record, event and effects together", applyWrites},
		{"what the table refuses changes nothing", applyRefused},
		{"only the living owner's token writes", applyFenced},
		{"a released record is nobody's", applyRelease},
		{"an event changes what it carries, and nothing else", applySet},
		{"a failing change leaves no part of itself", applyWhole},
		{"level-triggered effects are asked for again, others once", applyEffects},
	}
}

func applyWrites(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.queued(repo(1))
	n1 := w.node("n1")
	c := w.claim(n1)
	at := w.tick()
	ev := solve.Claimed{Plan: solve.Plan{Order: []string{"m"}, Limits: solve.Limits{SolveTime: time.Hour}}, Base: solve.Base{SHA: "sha"}, Branch: "ai/fix"}
	got, run := w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: ev, Reason: "planned"})
	want := c
	want.State, want.Seq, want.Plan, want.Base, want.Branch = solve.StatePreparing, 1, ev.Plan, ev.Base, ev.Branch
	want.Started, want.Deadline = at, at.Add(time.Hour)
	w.same(want, got)
	w.same(want, w.solve(made.ID))
	w.same(solve.Run{}, run)
	w.same([]solve.Entry{{Solve: made.ID, Seq: 1, At: at, Event: solve.EventClaimed, From: "queued", To: "preparing", Reason: "planned"}}, w.events(made.ID))
	effects, err := s.SolveEffects(w.ctx, made.ID)
	w.ok(err)
	wanted := map[string]bool{}
	for _, e := range solve.EffectsOf(want, nil, solve.EventClaimed) {
		wanted[e.Key] = true
	}
	w.same(len(wanted), len(effects))
	for _, e := range effects {
		if !wanted[e.Key] || e.State != solve.EffectPending || e.Wanted != 1 || !e.Due.IsZero() {
			t.Errorf("effect %+v", e)
		}
	}
	after, _ := w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.BaseReady{Runs: []solve.Run{{N: 1}, {N: 2}}}})
	w.same(uint64(2), after.Seq)
	runs, err := s.Runs(w.ctx, made.ID)
	w.ok(err)
	w.same([]string{string(made.ID) + "/1", string(made.ID) + "/2"}, names(runs))
	for _, r := range runs {
		if r.V != 1 || r.Repo != made.Repo || r.State != solve.RunQueued || !r.Created.Equal(at) {
			t.Errorf("created run %+v", r)
		}
	}
}

func applyRefused(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 2, nil)
	r := w.admit(n1, solve.Caps{Process: 1})[0]
	for _, ev := range Events() {
		if _, err := solve.NextRun(r.State, solve.NameOf(ev)); err != nil {
			w.refused(solve.Change{Solve: made.ID, Run: 1, Token: r.Lease.Token, Event: ev}, solve.ErrTransition)
		}
		if _, err := solve.NextSolve(solve.StateRunning, solve.NameOf(ev)); err != nil {
			w.refused(solve.Change{Solve: made.ID, Event: ev}, solve.ErrTransition)
		}
	}
	w.refused(solve.Change{Solve: made.ID, Run: 3, Event: solve.Aborted{}}, solve.ErrNotFound)
}

func applyFenced(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	w.ok(s.Heartbeat(w.ctx, "short", time.Minute))
	r := w.admit("short", solve.Caps{})[0]
	change := solve.Change{Solve: made.ID, Run: 1, Token: r.Lease.Token, Event: solve.Started{}}
	for _, token := range []uint64{r.Lease.Token + 1, r.Lease.Token + 7} {
		c := change
		c.Token = token
		w.refused(c, solve.ErrLeaseLost)
	}
	w.apply(change)
	w.now = w.now.Add(time.Minute)
	w.refused(solve.Change{Solve: made.ID, Run: 1, Token: r.Lease.Token, Event: solve.AgentEnded{}}, solve.ErrLeaseLost)
	w.now = w.now.Add(-time.Minute)
	w.ok(s.Leave(w.ctx, "short"))
	w.refused(solve.Change{Solve: made.ID, Run: 1, Token: r.Lease.Token, Event: solve.AgentEnded{}}, solve.ErrLeaseLost)
	// Token 0 is for causes outside the owner.
	_, after := w.apply(solve.Change{Solve: made.ID, Run: 1, Event: solve.Cancelled{}, Reason: "stopped"})
	w.same(solve.RunCancelled, after.State)
	w.same("stopped", after.Reason)
}

func applyRelease(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.queued(repo(1))
	n1, n2 := w.node("n1"), w.node("n2")
	c := w.claim(n1)
	w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.Claimed{}})
	got, _ := w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.BaseReady{}})
	w.same(solve.Lease{Token: 1}, got.Lease)
	w.refused(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.Cancelled{}}, solve.ErrLeaseLost)
	w.same(solve.Lease{Node: n2, Token: 2}, w.claim(n2).Lease)
}

func applySet(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 1, nil)
	r := w.admit(n1, solve.Caps{})[0]
	before := w.solve(made.ID)
	stays := []solve.SandboxUse{{Phase: "work", Driver: "local", Opened: w.now}}
	got, run := w.apply(solve.Change{Solve: made.ID, Run: 1, Token: r.Lease.Token, Event: solve.Started{Sandbox: "box"}, SandboxUses: stays})
	want := r
	want.State, want.Sandbox, want.SandboxUses, want.Started = solve.RunWorking, "box", stays, w.now
	w.same(want, run)
	w.same(want, w.run(made.ID, 1))
	before.Seq++
	w.same(before, got)
	w.same(before, w.solve(made.ID))
}

func applyWhole(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.queued(repo(1))
	n1 := w.node("n1")
	c := w.claim(n1)
	w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.Claimed{}})
	before := w.dump(made.ID)
	_, _, err := s.Apply(w.ctx, solve.Change{Solve: made.ID, Token: c.Lease.Token,
		Event: solve.BaseReady{Runs: []solve.Run{{N: 1}, {N: 1}}}})
	if err == nil {
		t.Fatal("two runs of one number were created")
	}
	w.same(before, w.dump(made.ID))
}

func applyEffects(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 3, nil)
	n1 := w.node("n1")
	find := func(kind solve.EffectKind) solve.Effect {
		e, err := s.Effect(w.ctx, string(made.ID)+"/"+string(kind))
		w.ok(err)
		return e
	}
	comment, react, check := find(solve.EffectNotice), find(solve.EffectReact), find(solve.EffectCheck)
	for _, e := range []solve.Effect{comment, react} {
		w.write(n1, e.Key)
	}
	c, err := s.ClaimEffect(w.ctx, check.Key, n1, time.Minute)
	w.ok(err)
	w.ok(s.KillEffect(w.ctx, check.Key, c.Token, "refused"))
	w.tick()
	r := w.step(w.admit(n1, solve.Caps{})[0], solve.Started{})
	again := find(solve.EffectNotice)
	if again.State != solve.EffectPending || again.Wanted != comment.Wanted+1 || again.Applied != comment.Wanted || !again.Due.IsZero() {
		t.Errorf("an applied level-triggered effect became %+v", again)
	}
	w.step(r, solve.AgentEnded{})
	w.step(r, solve.Harvested{})
	if later := find(solve.EffectNotice); later.Wanted <= again.Wanted || !later.Due.IsZero() {
		t.Errorf("a pending level-triggered effect became %+v", later)
	}
	if e := find(solve.EffectReact); e.State != solve.EffectApplied || e.Wanted != 1 {
		t.Errorf("an effect of once became %+v", e)
	}
	if e := find(solve.EffectCheck); e.State != solve.EffectDead || e.Wanted != check.Wanted {
		t.Errorf("a dead effect became %+v", e)
	}
}
