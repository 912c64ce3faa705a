package storetest

import (
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func trackPromises() []Promise {
	return []Promise{
		{"the end of a solve counts its trials", trackEnd},
		{"the end of a pull request counts again, and changes no solve", trackPull},
		{"tests of others count a solve again, once", trackTest},
		{"track records of repositories are apart", trackApart},
	}
}

// solved is a solve with one run that passed and one that changed nothing, whose pull request is open.
func (w *world) solved(r solve.Repo) solve.Solve {
	w.Helper()
	node := w.node("n1")
	made := w.running(r, 2, nil)
	list := w.admit(node, solve.Caps{})
	w.pass(list[0])
	other := list[1]
	for _, ev := range []solve.Event{solve.Started{}, solve.AgentEnded{}, solve.Empty{}} {
		other = w.step(other, ev)
	}
	c := w.claim(node)
	w.same(made.ID, c.ID)
	w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.ChampionChosen{Decision: solve.Decision{Champion: 1}}})
	after, _ := w.apply(solve.Change{
		Solve: made.ID, Token: c.Lease.Token, Event: solve.Published{Pull: solve.Pull{Number: int(100 + r.ID)}},
	})
	w.same(solve.StateSolved, after.State)
	return after
}

func (w *world) tracks() []solve.TrackRecord {
	w.Helper()
	list, err := w.s.TrackRecords(w.ctx)
	w.ok(err)
	return list
}

func trackEnd(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	w.same(0, len(w.tracks()))
	one := w.solved(repo(1))
	list := w.tracks()
	w.same(1, len(list))
	runs, err := s.Runs(w.ctx, one.ID)
	w.ok(err)
	var want solve.TrackRecord
	want.V, want.Repo = 1, one.Repo
	want.Add(solve.Trials(one, runs, solve.Fate{}))
	w.same(want, list[0])
	w.same(1, want.Arms[0].Known) // the one that changed nothing
}

func trackPull(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	one := w.solved(repo(1))
	open, before := w.tracks(), w.dump(one.ID)
	w.solved(repo(1))
	for range 2 { // told twice, counted once
		w.ok(s.Learn(w.ctx, one.ID, solve.Fate{Pull: solve.PullMerged}))
		got := w.tracks()[0]
		if arm := got.Arms[0]; arm.Won != 1 || arm.Known != 3 || got.Solves != 2 {
			t.Errorf("after the merge: %+v", got)
		}
	}
	w.same(before, w.dump(one.ID))
	w.ok(s.Learn(w.ctx, one.ID, solve.Fate{Pull: solve.PullClosed}))
	w.ok(s.Learn(w.ctx, one.ID, solve.Fate{Pull: solve.PullOpen}))
	if got, was := w.tracks()[0].Arms[0], open[0].Arms[0]; got.Won != was.Won || got.Known != 2*was.Known {
		t.Errorf("opened again: %+v, before %+v", got, was)
	}
	w.is(s.Learn(w.ctx, "unknown", solve.Fate{Pull: solve.PullMerged}), solve.ErrNotFound)
}

func trackTest(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	one := w.solved(repo(1))
	before := w.dump(one.ID)
	w.ok(s.Learn(w.ctx, one.ID, solve.Fate{Pull: solve.PullClosed}))
	for _, passes := range []bool{true, false} { // only the first counts
		w.ok(s.Learn(w.ctx, one.ID, solve.Fate{Tests: map[int]bool{1: passes}}))
		w.same([]int{1, 2, 1}, []int{w.tracks()[0].Arms[0].Won, w.tracks()[0].Arms[0].Known, w.tracks()[0].Solves})
	}
	w.same(before, w.dump(one.ID))
	w.ok(s.Learn(w.ctx, one.ID, solve.Fate{Pull: solve.PullOpen})) // the tests still stand
	w.same([]int{1, 2}, []int{w.tracks()[0].Arms[0].Won, w.tracks()[0].Arms[0].Known})
	w.is(s.Learn(w.ctx, "unknown", solve.Fate{Tests: map[int]bool{1: true}}), solve.ErrNotFound)
}

func trackApart(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	a, b := w.solved(repo(1)), w.solved(repo(2))
	w.ok(s.Learn(w.ctx, b.ID, solve.Fate{Pull: solve.PullMerged}))
	list := w.tracks()
	w.same([]solve.Repo{a.Repo, b.Repo}, []solve.Repo{list[0].Repo, list[1].Repo})
	w.same([]int{0, 1}, []int{list[0].Arms[0].Won, list[1].Arms[0].Won})
}
