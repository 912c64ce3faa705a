package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func readPromises() []Promise {
	return []Promise{
		{"what is not there is not found", readMissing},
		{"records are copies", readCopies},
		{"events can be read from a number on", readEventsAfter},
		{"live solves are listed oldest first", readLive},
		{"all solves are listed newest first, a part at a time", readSolves},
		{"what solves have spent is told, from their start on", readSpent},
		{"a watcher is told of commits and never holds them up", readWatch},
		{"artifacts are replaced whole and keep to their names", readArtifacts},
	}
}

func readMissing(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.queued(repo(1))
	for name, read := range map[string]func() error{
		"Solve":         func() error { _, err := s.Solve(w.ctx, "none"); return err },
		"Runs":          func() error { _, err := s.Runs(w.ctx, "none"); return err },
		"Run":           func() error { _, err := s.Run(w.ctx, made.ID, 1); return err },
		"Events":        func() error { _, err := s.Events(w.ctx, "none", 0); return err },
		"LatestSolve":   func() error { _, err := s.LatestSolve(w.ctx, 1, 999); return err },
		"Transcript":    func() error { _, err := s.Transcript(w.ctx, made.ID, 1); return err },
		"Artifact":      func() error { _, err := s.Artifact(w.ctx, made.ID, "none"); return err },
		"Effect":        func() error { _, err := s.Effect(w.ctx, "none"); return err },
		"RequestCancel": func() error { _, err := s.RequestCancel(w.ctx, "none", "", "me"); return err },
		"Apply": func() error {
			_, _, err := s.Apply(w.ctx, solve.Change{Solve: "none", Event: solve.Aborted{}})
			return err
		},
	} {
		if err := read(); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			w.is(err, solve.ErrNotFound)
		}
	}
}

func readCopies(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, func(s *solve.Solve) { s.Plan.Notes = []string{"note"} })
	before := w.dump(made.ID)
	a := w.solve(made.ID)
	a.Plan.Notes[0], a.State = "changed", solve.StateSolved
	w.same(before, w.dump(made.ID))
}

func readEventsAfter(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	all := w.events(made.ID)
	if len(all) != 2 {
		t.Fatalf("%d events, want 2", len(all))
	}
	for after := uint64(0); after <= 3; after++ {
		got, err := s.Events(w.ctx, made.ID, after)
		w.ok(err)
		w.same(len(all[min(int(after), len(all)):]), len(got))
		if len(got) > 0 && got[0].Seq != after+1 {
			t.Errorf("after %d comes %d", after, got[0].Seq)
		}
	}
}

func readLive(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	a, b, c := w.wish(repo(1)), w.wish(repo(1)), w.wish(repo(2))
	a.ID, c.ID = "zzz", "aaa"
	for _, one := range []solve.Solve{c, b, a} {
		_, _, err := s.Create(w.ctx, one)
		w.ok(err)
	}
	_, err := s.RequestCancel(w.ctx, b.ID, "me", "")
	w.ok(err)
	var ids []solve.ID
	for _, one := range w.live() {
		ids = append(ids, one.ID)
	}
	w.same([]solve.ID{"zzz", "aaa"}, ids)
}

func readSolves(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	for _, id := range []solve.ID{"b", "a", "d", "c"} {
		one := w.wish(repo(1))
		one.ID = id
		_, _, err := s.Create(w.ctx, one)
		w.ok(err)
	}
	_, err := s.RequestCancel(w.ctx, "c", "me", "") // an ended one is listed, too
	w.ok(err)
	for _, c := range []struct {
		before solve.ID
		most   int
		want   []solve.ID
	}{
		{"", 9, []solve.ID{"d", "c", "b", "a"}},
		{"", 2, []solve.ID{"d", "c"}},
		{"c", 9, []solve.ID{"b", "a"}},
		{"bb", 1, []solve.ID{"b"}}, // a place, not a solve
		{"zz", 1, []solve.ID{"d"}},
		{"a", 9, nil},
		{"", 0, nil},
	} {
		list, err := s.Solves(w.ctx, c.before, c.most)
		w.ok(err)
		var ids []solve.ID
		for _, one := range list {
			ids = append(ids, one.ID)
			w.same(w.solve(one.ID), one)
		}
		w.same(c.want, ids)
	}
}

func readWatch(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	watch := s.Watch(ctx)
	for range 10 {
		w.queued(repo(1)) // nobody receives: coalesced
	}
	select {
	case _, open := <-watch:
		if !open {
			t.Fatal("the channel was closed early")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no signal after a commit")
	}
	cancel()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case _, open := <-watch:
			if !open {
				w.queued(repo(1))
				return
			}
		case <-deadline:
			t.Fatal("the channel was not closed with its context")
		}
	}
}

func readArtifacts(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	id := w.queued(repo(1)).ID
	for _, text := range []string{"one", "", "a longer text"} {
		w.ok(s.PutArtifact(w.ctx, id, "run-1.patch", []byte(text)))
		got, err := s.Artifact(w.ctx, id, "run-1.patch")
		w.ok(err)
		w.same(text, string(got))
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "a b", ".hidden", "a\x00"} {
		if err := s.PutArtifact(w.ctx, id, name, nil); err == nil {
			t.Errorf("artifact name %q was accepted", name)
		}
		if _, err := s.Artifact(w.ctx, id, name); err == nil {
			t.Errorf("artifact name %q was read", name)
		}
	}
	w.is(s.PutArtifact(w.ctx, "none", "a", nil), solve.ErrNotFound)
}

func readSpent(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	began := w.now
	spent := func(since time.Time) []solve.Spending {
		t.Helper()
		list, err := s.Spent(w.ctx, since)
		w.ok(err)
		for i := range list {
			list[i].Started = list[i].Started.UTC()
		}
		return list
	}
	pay := func(r solve.Run, m solve.Money) {
		t.Helper()
		w.ok(s.Step(w.ctx, r.Solve, r.N, r.Lease.Token, []byte("x\n"), solve.Progress{Usage: solve.Usage{Cost: m}, At: w.now}))
	}

	ended := w.running(repo(1), 2, func(s *solve.Solve) { s.Plan.Limits.SolveMoney = 900 })
	for _, r := range w.admit(n1, solve.Caps{}) {
		r = w.step(r, solve.Started{})
		pay(r, 50)
		w.step(w.step(r, solve.AgentEnded{}), solve.Empty{})
	}
	one := solve.Spending{Solve: ended.ID, Repo: 1, Installation: 1, Started: ended.Started.UTC(), Live: true, Cost: 100, Reserved: 100}
	w.same([]solve.Spending{one}, spent(began)) // nothing is left to run
	w.apply(solve.Change{Solve: ended.ID, Event: solve.NoChampion{}})
	one.Live = false

	far := repo(2)
	far.Installation = 7
	capped := w.running(far, 1, func(s *solve.Solve) { s.Plan.Limits.SolveMoney = 900 })
	free := w.running(far, 1, nil)
	working := w.admit(n1, solve.Caps{})
	for _, r := range working {
		pay(w.step(r, solve.Started{}), 30)
	}
	w.queued(repo(3)) // not started: has spent nothing
	two := solve.Spending{Solve: capped.ID, Repo: 2, Installation: 7, Started: capped.Started.UTC(), Live: true, Cost: 30, Reserved: 900}
	three := solve.Spending{Solve: free.ID, Repo: 2, Installation: 7, Started: free.Started.UTC(), Live: true, Cost: 30, Reserved: 30}
	w.same([]solve.Spending{one, two, three}, spent(began))
	w.same([]solve.Spending{two, three}, spent(capped.Started))
	w.same([]solve.Spending{three}, spent(capped.Started.Add(time.Nanosecond)))

	// More than was planned counts in full.
	pay(working[0], 1000)
	two.Cost, two.Reserved = 1000, 1000
	w.same([]solve.Spending{one, two, three}, spent(began))
	w.apply(solve.Change{Solve: capped.ID, Event: solve.Cancelled{}})
	two.Live = false
	w.same([]solve.Spending{one, two, three}, spent(began))
	w.spentCarried(began, two, three)
}

// spentCarried: runs that an earlier solve paid for cost nothing again, and a
// picked champion has nothing to run.
func (w *world) spentCarried(since time.Time, before ...solve.Spending) {
	w.Helper()
	wish := w.wish(repo(4))
	wish.Follows = &solve.Follow{Kind: solve.FollowPick, Of: before[0].Solve, N: 1}
	s, _, err := w.s.Create(w.ctx, wish)
	w.ok(err)
	w.plan(s, solve.Plan{Limits: solve.Limits{SolveMoney: 900}}, nil)
	w.apply(solve.Change{Solve: s.ID, Event: solve.BaseReady{Runs: []solve.Run{{
		N: 1, State: solve.RunPassed, From: &solve.Origin{Solve: before[0].Solve, N: 1},
		Progress: solve.Progress{Usage: solve.Usage{Cost: 70}},
	}}}})
	list, err := w.s.Spent(w.ctx, since)
	w.ok(err)
	last := list[len(list)-1]
	last.Started = last.Started.UTC()
	w.same(solve.Spending{Solve: s.ID, Repo: 4, Installation: 1, Started: w.now, Live: true}, last)
}
