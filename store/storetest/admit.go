package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func admitPromises() []Promise {
	return []Promise{
		{"an admitted run has a new token, attempt and owner", admitRecord},
		{"the repository with the fewest running runs goes first", admitFair},
		{"every cap holds, over all nodes", admitCaps},
		{"a full installation does not hold up others", admitFullInstallation},
		{"a repository of two installations gets its turns", admitReinstalled},
		{"room that is given back is used", admitAgain},
		{"a solve that must end starts no run", admitEnding},
	}
}

// names are the runs as "solve/n", in order.
func names(list []solve.Run) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s/%d", r.Solve, r.N))
	}
	return out
}

func admitRecord(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	n1 := w.node("n1")
	want := w.run(made.ID, 1)
	w.same(solve.RunQueued, want.State)
	want.State, want.Attempt, want.Lease = solve.RunDispatched, 1, solve.Lease{Node: n1, Token: 1}
	got := w.admit(n1, solve.Caps{})
	w.same([]solve.Run{want}, got)
	w.same(want, w.run(made.ID, 1))
	last := w.events(made.ID)[2]
	w.same(solve.Entry{Solve: made.ID, Seq: 3, At: w.now, Run: 1, Event: solve.EventAdmitted, From: "queued", To: "dispatched"}, last)
	w.same(0, len(w.admit(n1, solve.Caps{})))
}

func admitFair(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	a := w.running(repo(1), 3, nil)
	b := w.running(repo(1), 2, nil)
	c := w.running(repo(2), 2, nil)
	d := w.running(repo(3), 1, nil)
	name := func(s solve.Solve, n int) string { return fmt.Sprintf("%s/%d", s.ID, n) }
	got := names(w.admit(n1, solve.Caps{Process: 3}))
	w.same([]string{name(a, 1), name(c, 1), name(d, 1)}, got)
	got = names(w.admit(n1, solve.Caps{}))
	w.same([]string{name(a, 2), name(c, 2), name(a, 3), name(b, 1), name(b, 2)}, got)
}

func admitCaps(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	nodes := []string{w.node("n1"), w.node("n2")}
	for i := range 3 {
		for j := range 2 {
			r := repo(int64(i))
			r.Installation = int64(i / 2) // repositories 0 and 1 share one
			w.running(r, 4, func(s *solve.Solve) { s.Plan.Limits.Parallel = 2 + j })
		}
	}
	for _, step := range []struct {
		caps solve.Caps
		want int // running afterwards
	}{
		{solve.Caps{Process: 1}, 1},
		{solve.Caps{Repository: 1}, 3},
		{solve.Caps{Installation: 3, Repository: 2}, 5},
		{solve.Caps{Installation: 3, Repository: 3}, 6},
		{solve.Caps{Process: 10, Repository: 4}, 10},
		{solve.Caps{}, 15}, // parallel: 3 repositories of 2 + 3
	} {
		for _, node := range nodes {
			w.admit(node, step.caps)
		}
		w.same(step.want, w.checkCaps(step.caps))
	}
}

// checkCaps returns how many runs are at work, and fails if that breaks a cap.
func (w *world) checkCaps(caps solve.Caps) int {
	w.Helper()
	total, insts, repos := 0, map[int64]int{}, map[int64]int{}
	for _, s := range w.live() {
		list, err := w.s.Runs(w.ctx, s.ID)
		w.ok(err)
		n := 0
		for _, r := range list {
			if r.State.Active() {
				n++
			}
		}
		total += n
		insts[s.Repo.Installation] += n
		repos[s.Repo.ID] += n
		if most := s.Plan.Limits.Parallel; most > 0 && n > most {
			w.Errorf("solve %s has %d runs at work, its bound is %d", s.ID, n, most)
		}
	}
	for id, n := range repos {
		if caps.Repository > 0 && n > caps.Repository {
			w.Errorf("repository %d has %d runs at work, the cap is %d", id, n, caps.Repository)
		}
	}
	for id, n := range insts {
		if caps.Installation > 0 && n > caps.Installation {
			w.Errorf("installation %d has %d runs at work, the cap is %d", id, n, caps.Installation)
		}
	}
	if caps.Process > 0 && total > caps.Process {
		w.Errorf("%d runs at work, the cap is %d", total, caps.Process)
	}
	return total
}

func admitFullInstallation(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	one, other := repo(1), repo(9)
	other.Installation = 2
	w.running(one, 3, nil)
	b := w.running(other, 3, nil)
	w.admit(n1, solve.Caps{Installation: 1})
	w.same(1, len(w.admit(n1, solve.Caps{Installation: 2, Process: 3})))
	list, err := s.Runs(w.ctx, b.ID)
	w.ok(err)
	w.same(solve.RunDispatched, list[0].State)
	w.same(1, len(w.admit(n1, solve.Caps{Installation: 2})))
}

// admitReinstalled is an App that was installed again: the same repository has
// solves under two numbers.
func admitReinstalled(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	old, anew := repo(1), repo(1)
	anew.Installation = 2
	soon := w.now.Add(20 * time.Minute)
	a := w.running(old, 2, func(s *solve.Solve) { s.Deadline = soon })
	b := w.running(anew, 2, nil)
	name := func(s solve.Solve, n int) string { return fmt.Sprintf("%s/%d", s.ID, n) }
	got := w.admit(n1, solve.Caps{Installation: 1})
	w.same([]string{name(a, 1), name(b, 1)}, names(got))
	w.pass(got[0])
	w.now = soon
	w.same(0, len(w.admit(n1, solve.Caps{Installation: 1})))
	w.same([]string{name(b, 2)}, names(w.admit(n1, solve.Caps{})))
	w.same(0, len(w.admit(n1, solve.Caps{})))
	w.same(solve.RunQueued, w.run(a.ID, 2).State)
}

func admitAgain(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 2, func(s *solve.Solve) { s.Plan.Limits.Parallel = 1 })
	first := w.admit(n1, solve.Caps{})
	w.same(1, len(first))
	w.step(first[0], solve.Started{})
	back := w.step(first[0], solve.Requeued{})
	w.same(solve.Lease{Token: 1}, back.Lease)
	w.refused(solve.Change{Solve: made.ID, Run: 1, Token: 1, Event: solve.Started{}}, solve.ErrLeaseLost)
	again := w.admit(n1, solve.Caps{})
	w.same([]string{string(made.ID) + "/1"}, names(again))
	w.same(2, again[0].Attempt)
	w.same(uint64(2), again[0].Lease.Token)
	w.pass(again[0])
	w.same([]string{string(made.ID) + "/2"}, names(w.admit(n1, solve.Caps{})))
}

func admitEnding(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	soon := w.now.Add(20 * time.Minute)
	made := w.running(repo(1), 1, func(s *solve.Solve) { s.Deadline = soon })
	stopped := w.running(repo(1), 2, nil)
	w.same(1, len(w.admit(n1, solve.Caps{Process: 1})))
	_, err := s.RequestCancel(w.ctx, stopped.ID, "me", "")
	w.ok(err)
	other := w.running(repo(1), 1, func(s *solve.Solve) { s.Deadline = soon })
	w.now = soon
	w.same(0, len(w.admit(n1, solve.Caps{})))
	w.same(solve.RunQueued, w.run(other.ID, 1).State)
	w.same(solve.RunDispatched, w.run(made.ID, 1).State)
}
