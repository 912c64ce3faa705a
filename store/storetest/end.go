package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func endPromises() []Promise {
	return []Promise{
		{"the last run's end moves the solve", endLastRun},
		{"the last run's end of a solve asked to stop cancels it", endLastRunCancel},
		{"a deadline does not lose what the last run found", endLastRunLate},
		{"ending a solve ends its runs and fences their workers", endCascade},
		{"a final state never changes and has no owner", endFinal},
		{"cancelling stops at once what nobody works on", cancelIdle},
		{"cancelling leaves work to its owner", cancelWorking},
		{"cancelling what is over changes nothing", cancelFinal},
	}
}

func endLastRun(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 2, nil)
	list := w.admit(n1, solve.Caps{})
	w.pass(list[0])
	w.state(made.ID, solve.StateRunning)
	r := list[1]
	for _, ev := range []solve.Event{solve.Started{}, solve.AgentEnded{}} {
		r = w.step(r, ev)
	}
	w.tick()
	after, run := w.apply(solve.Change{Solve: made.ID, Run: 2, Token: r.Lease.Token, Event: solve.Empty{}, Reason: "no change"})
	w.same(solve.StateReducing, after.State)
	w.same(after, w.solve(made.ID))
	if run.State != solve.RunEmpty || run.Lease.Node != "" || !run.Ended.Equal(w.now) || run.Reason != "no change" {
		t.Errorf("the ended run is %+v", run)
	}
	all := w.events(made.ID)
	last := all[len(all)-2:]
	w.same([]solve.EventName{solve.EventEmpty, solve.EventRunsEnded}, []solve.EventName{last[0].Event, last[1].Event})
	w.same([]uint64{after.Seq - 1, after.Seq}, []uint64{last[0].Seq, last[1].Seq})
	w.same(made.ID, w.claim(n1).ID)
}

func endLastRunCancel(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 2, nil)
	r := w.admit(n1, solve.Caps{Process: 1})[0]
	_, err := s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	after, _ := w.apply(solve.Change{Solve: made.ID, Run: r.N, Token: r.Lease.Token, Event: solve.Cancelled{}})
	w.same(solve.StateCancelled, after.State)
	if !strings.Contains(after.Reason, "me") || !after.Ended.Equal(w.now) {
		t.Errorf("the cancelled solve is %+v", after)
	}
}

func endLastRunLate(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 1, func(s *solve.Solve) { s.Deadline = w.now.Add(time.Minute) })
	r := w.admit(n1, solve.Caps{})[0]
	w.now = w.now.Add(2 * time.Minute)
	w.pass(r)
	w.state(made.ID, solve.StateReducing)
}

func endCascade(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	for _, c := range []struct {
		ev  solve.Event
		to  solve.State
		run solve.RunState
	}{
		{solve.Cancelled{}, solve.StateCancelled, solve.RunCancelled},
		{solve.Aborted{}, solve.StateFailed, solve.RunCancelled},
		{solve.Expired{}, solve.StateExpired, solve.RunTimedOut},
	} {
		made := w.running(repo(1), 3, nil)
		list := w.admit(n1, solve.Caps{Process: 2})
		done := w.pass(list[0])
		w.tick()
		after, _ := w.apply(solve.Change{Solve: made.ID, Event: c.ev, Reason: "the reason"})
		w.same(c.to, after.State)
		w.same("the reason", after.Reason)
		w.same(done, w.run(made.ID, 1))
		for _, n := range []int{2, 3} {
			r := w.run(made.ID, n)
			if r.State != c.run || !r.Ended.Equal(w.now) || r.Lease.Node != "" {
				t.Errorf("%T left run %+v", c.ev, r)
			}
		}
		if got := w.run(made.ID, 2).Lease.Token; got <= list[1].Lease.Token {
			t.Errorf("%T left the token at %d", c.ev, got)
		}
		w.refused(solve.Change{Solve: made.ID, Run: 2, Token: list[1].Lease.Token, Event: solve.Started{}}, solve.ErrLeaseLost)
		w.is(s.Step(w.ctx, made.ID, 2, list[1].Lease.Token, []byte("x\n"), solve.Progress{At: w.now}), solve.ErrLeaseLost)
		w.gapless(made.ID)
		w.same(0, w.checkCaps(solve.Caps{}))
	}
}

// gapless fails unless the events are numbered from 1 to the solve's last.
func (w *world) gapless(id solve.ID) {
	w.Helper()
	all := w.events(id)
	for i, e := range all {
		if e.Seq != uint64(i+1) {
			w.Errorf("solve %s: event %d has number %d", id, i+1, e.Seq)
		}
	}
	if last := w.solve(id).Seq; last != uint64(len(all)) {
		w.Errorf("solve %s: last event is %d, there are %d", id, last, len(all))
	}
}

func endFinal(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 1, nil)
	w.pass(w.admit(n1, solve.Caps{})[0])
	c := w.claim(n1)
	w.tick()
	after, _ := w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.NoChampion{}, Reason: "none passed"})
	if after.Lease.Node != "" || !after.Ended.Equal(w.now) || after.Reason != "none passed" {
		t.Errorf("the ended solve is %+v", after)
	}
	for _, ev := range Events() {
		w.refused(solve.Change{Solve: made.ID, Event: ev}, solve.ErrTransition)
		w.refused(solve.Change{Solve: made.ID, Run: 1, Event: ev}, solve.ErrTransition)
		w.refused(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: ev}, solve.ErrLeaseLost)
	}
	w.nothingToClaim(n1)
	w.same(0, len(w.live()))
}

func cancelIdle(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.queued(repo(1))
	at := w.tick()
	got, err := s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	if got.State != solve.StateCancelled || got.CancelBy != "me" || !got.CancelAt.Equal(at) || !got.Ended.Equal(at) {
		t.Errorf("a queued solve became %+v", got)
	}
	w.same(got, w.solve(made.ID))

	made = w.running(repo(1), 2, nil)
	got, err = s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	w.same(solve.StateCancelled, got.State)
	w.same(solve.RunCancelled, w.run(made.ID, 2).State)

	// Claimed by a node that died since.
	made = w.queued(repo(1))
	w.claim(w.node("dying"))
	w.ok(s.Leave(w.ctx, "dying"))
	got, err = s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	w.same(solve.StateCancelled, got.State)
}

func cancelWorking(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.queued(repo(1))
	c := w.claim(n1)
	got, err := s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	w.same(solve.StateQueued, got.State)
	w.same(c.Lease, got.Lease)
	w.apply(solve.Change{Solve: made.ID, Token: c.Lease.Token, Event: solve.Cancelled{}})

	made = w.running(repo(1), 3, nil)
	r := w.admit(n1, solve.Caps{Process: 1})[0]
	w.tick()
	got, err = s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	w.same(solve.StateRunning, got.State)
	w.same(r, w.run(made.ID, 1))
	w.same(solve.RunCancelled, w.run(made.ID, 2).State)
	w.same(solve.RunCancelled, w.run(made.ID, 3).State)
	before := w.dump(made.ID)
	w.tick()
	_, err = s.RequestCancel(w.ctx, made.ID, "somebody else", "")
	w.ok(err)
	w.same(before, w.dump(made.ID))
	w.gapless(made.ID)
}

func cancelFinal(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	w.apply(solve.Change{Solve: made.ID, Event: solve.Aborted{}, Reason: "broken"})
	before := w.dump(made.ID)
	got, err := s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	w.same(before.Solve, got)
	w.same(before, w.dump(made.ID))
}
