package storetest

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func leasePromises() []Promise {
	return []Promise{
		{"a node whose lease ran out is never revived", heartbeatDead},
		{"a node that is not live gets no work", deadGetsNothing},
		{"the oldest waiting solve is claimed, once", claimOldest},
		{"waiting is fair between repositories", claimFair},
		{"what was begun goes before the queue", claimBegun},
		{"a dead node's solve is claimed by another", claimAfterDeath},
		{"a running solve is claimed only when its runs are over or it must end", claimRunning},
		{"a solve claimed for its deadline keeps its age", claimDueInOrder},
		{"a dead node's runs are rescued without a change of state", rescueRuns},
	}
}

func (w *world) claim(node string) solve.Solve {
	w.Helper()
	s, err := w.s.ClaimSolve(w.ctx, node)
	w.ok(err)
	return s
}

func (w *world) nothingToClaim(node string) {
	w.Helper()
	_, err := w.s.ClaimSolve(w.ctx, node)
	w.is(err, solve.ErrNotFound)
}

func heartbeatDead(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	w.ok(s.Heartbeat(w.ctx, "a", 10*time.Second))
	w.now = w.now.Add(9 * time.Second)
	w.ok(s.Heartbeat(w.ctx, "a", 10*time.Second))
	w.now = w.now.Add(10 * time.Second)
	w.is(s.Heartbeat(w.ctx, "a", 10*time.Second), solve.ErrLeaseLost)
	w.ok(s.Heartbeat(w.ctx, "b", time.Second))
	w.now = w.now.Add(2 * time.Second)
	w.is(s.Heartbeat(w.ctx, "a", 10*time.Second), solve.ErrLeaseLost)
	w.ok(s.Heartbeat(w.ctx, "c", time.Hour))
	w.ok(s.Leave(w.ctx, "c"))
	w.ok(s.Leave(w.ctx, "c"))
	w.ok(s.Leave(w.ctx, "nobody"))
	w.is(s.Heartbeat(w.ctx, "c", time.Hour), solve.ErrLeaseLost)
}

func deadGetsNothing(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	w.queued(repo(2))
	w.node("gone")
	w.ok(s.Leave(w.ctx, "gone"))
	w.ok(s.Heartbeat(w.ctx, "late", time.Second))
	w.now = w.now.Add(time.Second)
	for _, node := range []string{"gone", "late", "unknown", ""} {
		_, err := s.ClaimSolve(w.ctx, node)
		w.is(err, solve.ErrLeaseLost)
		_, err = s.Admit(w.ctx, node, solve.Caps{})
		w.is(err, solve.ErrLeaseLost)
		_, err = s.Rescue(w.ctx, node)
		w.is(err, solve.ErrLeaseLost)
		_, err = s.ClaimEffect(w.ctx, string(made.ID)+"/comment", node, time.Minute)
		w.is(err, solve.ErrLeaseLost)
	}
}

func claimOldest(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	a, b := w.wish(repo(1)), w.wish(repo(2))
	for _, one := range []solve.Solve{b, a} {
		_, _, err := s.Create(w.ctx, one)
		w.ok(err)
	}
	n1, n2 := w.node("n1"), w.node("n2")
	first, second := w.claim(n1), w.claim(n2)
	w.same([]solve.ID{a.ID, b.ID}, []solve.ID{first.ID, second.ID})
	w.same(solve.Lease{Node: n1, Token: 1}, first.Lease)
	w.same(solve.Lease{Node: n2, Token: 1}, second.Lease)
	w.same(first, w.solve(a.ID))
	w.state(a.ID, solve.StateQueued)
	w.nothingToClaim(n1)
	w.nothingToClaim(n2)
}

func claimAfterDeath(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.queued(repo(1))
	w.ok(s.Heartbeat(w.ctx, "short", time.Minute))
	first := w.claim("short")
	w.apply(solve.Change{Solve: made.ID, Token: first.Lease.Token, Event: solve.Claimed{}})
	n2 := w.node("n2")
	w.nothingToClaim(n2)
	w.now = w.now.Add(time.Minute)
	again := w.claim(n2)
	w.same(solve.Lease{Node: n2, Token: 2}, again.Lease)
	w.state(made.ID, solve.StatePreparing)
	w.refused(solve.Change{Solve: made.ID, Token: first.Lease.Token, Event: solve.BaseReady{}}, solve.ErrLeaseLost)
	w.ok(s.Leave(w.ctx, n2))
	n3 := w.node("n3")
	w.same(solve.Lease{Node: n3, Token: 3}, w.claim(n3).Lease)
}

func claimRunning(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	far := w.now.Add(30 * time.Minute)
	made := w.running(repo(1), 2, func(s *solve.Solve) { s.Deadline = far })
	w.nothingToClaim(n1)
	w.same(2, len(w.admit(n1, solve.Caps{})))
	w.nothingToClaim(n1)

	// Past its deadline.
	late := w.now
	w.now = far
	got := w.claim(n1)
	w.same(made.ID, got.ID)
	w.nothingToClaim(n1)
	w.apply(solve.Change{Solve: made.ID, Token: got.Lease.Token, Event: solve.Expired{}})
	w.nothingToClaim(n1)
	w.now = late

	// Asked to stop, with a run at work.
	made = w.running(repo(1), 2, nil)
	w.same(1, len(w.admit(n1, solve.Caps{Process: 1})))
	_, err := s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	got = w.claim(n1)
	w.same(made.ID, got.ID)
	w.apply(solve.Change{Solve: made.ID, Token: got.Lease.Token, Event: solve.Cancelled{}})

	// Without runs, and after its runs.
	made = w.running(repo(1), 0, nil)
	got = w.claim(n1)
	w.same(made.ID, got.ID)
	w.apply(solve.Change{Solve: made.ID, Token: got.Lease.Token, Event: solve.Aborted{}})
	made = w.running(repo(1), 1, nil)
	w.pass(w.admit(n1, solve.Caps{})[0])
	w.same(made.ID, w.claim(n1).ID)
}

func claimDueInOrder(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	start := w.now
	old := w.running(repo(1), 1, func(s *solve.Solve) { s.Deadline = start.Add(20 * time.Minute) })
	young := w.running(repo(1), 1, func(s *solve.Solve) { s.Deadline = start.Add(10 * time.Minute) })
	waiting := w.queued(repo(1))
	w.now = start.Add(25 * time.Minute)
	w.same([]solve.ID{old.ID, young.ID, waiting.ID}, []solve.ID{w.claim(n1).ID, w.claim(n1).ID, w.claim(n1).ID})
}

func rescueRuns(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 4, nil)
	w.ok(s.Heartbeat(w.ctx, "short", time.Minute))
	n2 := w.node("n2")
	list := w.admit("short", solve.Caps{Process: 2})
	working := w.step(list[0], solve.Started{})
	mine := w.admit(n2, solve.Caps{Process: 3})
	before := w.events(made.ID)
	if got, err := s.Rescue(w.ctx, n2); err != nil || len(got) != 0 {
		t.Fatalf("rescued %d runs of a living node: %v", len(got), err)
	}
	w.now = w.now.Add(time.Minute)
	w.refused(solve.Change{Solve: made.ID, Run: working.N, Token: working.Lease.Token, Event: solve.AgentEnded{}}, solve.ErrLeaseLost)
	got, err := s.Rescue(w.ctx, n2)
	w.ok(err)
	if len(got) != 2 {
		t.Fatalf("rescued %d runs, want 2", len(got))
	}
	for i, r := range got {
		want := []solve.Run{working, list[1]}[i]
		want.Lease = solve.Lease{Node: n2, Token: want.Lease.Token + 1}
		w.same(want, r)
		w.same(want, w.run(made.ID, r.N))
	}
	w.same(before, w.events(made.ID))
	w.refused(solve.Change{Solve: made.ID, Run: working.N, Token: working.Lease.Token, Event: solve.AgentEnded{}}, solve.ErrLeaseLost)
	w.step(got[0], solve.Adopted{})
	w.same(mine[0], w.run(made.ID, mine[0].N))
	if got, err := s.Rescue(w.ctx, n2); err != nil || len(got) != 0 {
		t.Errorf("rescued %d runs a second time: %v", len(got), err)
	}
}

// claimFair has one repository with many wishes and two with few.
func claimFair(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	var crowd []solve.Solve
	for range 5 {
		crowd = append(crowd, w.queued(repo(1)))
	}
	b, c := w.queued(repo(2)), w.queued(repo(3))
	b2 := w.queued(repo(2))
	w.claimInOrder(n1, crowd[0].ID, b.ID, c.ID, crowd[1].ID, b2.ID, crowd[2].ID)

	// One that ends makes room for its repository; one that goes on does not.
	w.apply(solve.Change{Solve: crowd[0].ID, Token: 1, Event: solve.Claimed{}})
	w.apply(solve.Change{Solve: crowd[1].ID, Token: 1, Event: solve.Aborted{}})
	w.apply(solve.Change{Solve: crowd[2].ID, Token: 1, Event: solve.Aborted{}})
	b3 := w.queued(repo(2))
	w.claimInOrder(n1, crowd[3].ID, crowd[4].ID, b3.ID)
	w.nothingToClaim(n1)
}

// claimInOrder claims these, which must be what solve.Queue says, too.
func (w *world) claimInOrder(node string, want ...solve.ID) {
	w.Helper()
	var told []solve.ID
	for _, s := range solve.Queue(w.live())[:len(want)] {
		told = append(told, s.ID)
	}
	w.same(want, told)
	for i, id := range want {
		if got := w.claim(node); got.ID != id {
			w.Fatalf("claim %d gave %s, want %s", i+1, got.ID, id)
		}
	}
}

// claimBegun: what left the queue before goes on first, however fair the queue is.
func claimBegun(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	old, young := w.queued(repo(1)), w.queued(repo(1))
	w.ok(s.Heartbeat(w.ctx, "short", time.Minute))
	for _, id := range []solve.ID{old.ID, young.ID} {
		w.same(id, w.claim("short").ID)
		w.apply(solve.Change{Solve: id, Token: 1, Event: solve.Claimed{}})
	}
	early, late := w.queued(repo(2)), w.queued(repo(1))
	w.same(early.ID, w.claim("short").ID) // not planned yet when its owner dies
	w.now = w.now.Add(time.Minute)
	w.same([]solve.ID{old.ID, young.ID, early.ID, late.ID},
		[]solve.ID{w.claim(n1).ID, w.claim(n1).ID, w.claim(n1).ID, w.claim(n1).ID})
	w.nothingToClaim(n1)
}
