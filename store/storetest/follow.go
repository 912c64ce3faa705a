package storetest

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func followPromises() []Promise {
	return []Promise{
		{"carried runs keep their state, the others are queued", carrySome},
		{"a solve whose runs are all carried moves on at once", carryAll},
		{"a pull request's number finds the newest solve that goes to it", findByPull},
		{"an event that stops a solve is its reason", stopReason},
	}
}

// preparing makes a claimed solve that waits for its runs.
func (w *world) preparing(node string) solve.Solve {
	w.Helper()
	made := w.queued(repo(1))
	c := w.claim(node)
	w.same(made.ID, c.ID)
	s, _ := w.apply(solve.Change{Solve: c.ID, Token: c.Lease.Token, Event: solve.Claimed{}})
	return s
}

// carried is a run that passed in an earlier solve.
func (w *world) carried(n int) solve.Run {
	return solve.Run{
		N: n, State: solve.RunPassed, Reason: "before", Attempt: 1, Ended: w.now.Add(-time.Hour),
		From: &solve.Origin{Solve: "earlier", N: n},
	}
}

func carrySome(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	c := w.preparing(n1)
	fresh := solve.Run{N: 2, State: solve.RunPassed} // claims a state without an origin
	after, _ := w.apply(solve.Change{Solve: c.ID, Token: c.Lease.Token, Event: solve.BaseReady{Runs: []solve.Run{w.carried(1), fresh}}})
	w.same(solve.StateRunning, after.State)
	r := w.run(c.ID, 1)
	w.same(solve.RunPassed, r.State)
	if r.Solve != c.ID || r.From == nil || r.Reason != "before" || !r.Ended.Equal(w.now.Add(-time.Hour)) {
		t.Errorf("the carried run is %+v", r)
	}
	w.same(solve.RunQueued, w.run(c.ID, 2).State)
	list := w.admit(n1, solve.Caps{})
	w.same([]string{string(c.ID) + "/2"}, names(list))
	w.pass(list[0])
	w.state(c.ID, solve.StateReducing)
}

func carryAll(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	c := w.preparing(n1)
	after, _ := w.apply(solve.Change{Solve: c.ID, Token: c.Lease.Token, Event: solve.BaseReady{Runs: []solve.Run{w.carried(1), w.carried(2)}}})
	w.same(solve.StateReducing, after.State)
	all := w.events(c.ID)
	w.same([]solve.EventName{solve.EventClaimed, solve.EventBaseReady, solve.EventRunsEnded}, []solve.EventName{all[0].Event, all[1].Event, all[2].Event})
	w.same(0, len(w.admit(n1, solve.Caps{})))
	w.same(c.ID, w.claim(n1).ID)
}

func findByPull(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	c := w.preparing(n1)
	w.apply(solve.Change{Solve: c.ID, Token: c.Lease.Token, Event: solve.BaseReady{Runs: []solve.Run{w.carried(1)}}})
	w.apply(solve.Change{Solve: c.ID, Event: solve.ChampionChosen{}})
	const number = 900
	latest := func(want solve.ID) {
		w.Helper()
		got, err := s.LatestSolve(w.ctx, c.Repo.ID, number)
		w.ok(err)
		w.same(want, got.ID)
	}
	_, err := s.LatestSolve(w.ctx, c.Repo.ID, number)
	w.is(err, solve.ErrNotFound)
	w.apply(solve.Change{Solve: c.ID, Event: solve.Published{Pull: solve.Pull{Number: number}}})
	latest(c.ID)
	child := w.wish(repo(1))
	child.Issue = c.Issue
	child.Follows = &solve.Follow{Kind: solve.FollowRevise, Of: c.ID, Pull: &solve.Pull{Number: number}}
	_, created, err := s.Create(w.ctx, child)
	w.ok(err)
	w.same(true, created)
	latest(child.ID)
	_, err = s.LatestSolve(w.ctx, c.Repo.ID+1, number)
	w.is(err, solve.ErrNotFound)
}

func stopReason(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.queued(repo(1))
	after, err := s.RequestCancel(w.ctx, made.ID, "me", "the issue was closed by me")
	w.ok(err)
	w.same(solve.StateCancelled, after.State)
	w.same([]string{"the issue was closed by me", "the issue was closed by me", "me"}, []string{after.Reason, after.CancelWhy, after.CancelBy})
}
