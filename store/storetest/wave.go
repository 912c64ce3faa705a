package storetest

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func wavePromises() []Promise {
	return []Promise{
		{"without a stop rule no run waits for another", waveNone},
		{"a run of a later wave starts when nothing of the last passed", waveNext},
		{"a wave in which one passed is the last", waveGreen},
		{"a refused patch ends no wave", waveRefused},
		{"the first that passes ends those that wait", firstGreen},
		{"what goes back into the queue too late is not needed", firstGreenRequeued},
		{"carried runs neither start nor end a wave", waveCarried},
		{"a solve that must end begins no wave", waveEnding},
		{"a restless wave is admitted by wave, then by number", waveOrder},
	}
}

// ruled makes a running solve under a stop rule, with a run for each wave named.
func (w *world) ruled(node string, rule solve.StopRule, waves []int, set func(*solve.Solve)) solve.Solve {
	w.Helper()
	list := make([]solve.Run, len(waves))
	for i, wave := range waves {
		list[i] = solve.Run{N: i + 1, Experiment: solve.Experiment{Wave: wave}}
	}
	return w.ruledRuns(node, rule, list, set)
}

func (w *world) ruledRuns(node string, rule solve.StopRule, list []solve.Run, set func(*solve.Solve)) solve.Solve {
	w.Helper()
	made := w.queued(repo(1))
	c := w.claim(node)
	w.same(made.ID, c.ID)
	plan := solve.Plan{Stop: rule}
	for _, r := range list {
		plan.Experiments = append(plan.Experiments, r.Experiment)
	}
	w.plan(c, plan, set)
	s, _ := w.apply(solve.Change{Solve: c.ID, Token: c.Lease.Token, Event: solve.BaseReady{Runs: list}})
	return s
}

// judged takes an admitted run to a verdict.
func (w *world) judged(r solve.Run, refused string) (solve.Solve, solve.Run) {
	w.Helper()
	for _, ev := range []solve.Event{solve.Started{}, solve.AgentEnded{}, solve.Harvested{Candidate: solve.Candidate{Refused: refused}}} {
		r = w.step(r, ev)
	}
	return w.apply(solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: solve.Judged{Verdict: passed}})
}

// ends fails unless the runs are in these states.
func (w *world) ends(id solve.ID, want ...solve.RunState) []solve.Run {
	w.Helper()
	list, err := w.s.Runs(w.ctx, id)
	w.ok(err)
	var got []solve.RunState
	for _, r := range list {
		got = append(got, r.State)
	}
	w.same(want, got)
	return list
}

// unneeded fails unless the run was ended by the stop rule, with the reason.
func (w *world) unneeded(r solve.Run, reason string) {
	w.Helper()
	w.same(solve.Run{State: solve.RunCancelled, Reason: reason, NotNeeded: true}, solve.Run{State: r.State, Reason: r.Reason, NotNeeded: r.NotNeeded})
}

func waveNone(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	for _, rule := range []solve.StopRule{"", solve.StopAll} {
		made := w.ruled(n1, rule, []int{0, 0, 2}, nil)
		w.same(0, made.Wave)
		list := w.admit(n1, solve.Caps{})
		w.same(3, len(list))
		w.judged(list[0], "")
		w.ends(made.ID, solve.RunPassed, solve.RunDispatched, solve.RunDispatched)
		w.apply(solve.Change{Solve: made.ID, Event: solve.Aborted{}})
	}
}

func waveNext(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.ruled(n1, solve.StopWaves, []int{1, 1, 2, 4}, nil)
	w.same(1, made.Wave)
	list := w.admit(n1, solve.Caps{})
	w.same(2, len(list))
	w.step(list[0], solve.Aborted{})
	w.same(0, len(w.admit(n1, solve.Caps{})))
	w.same(1, w.solve(made.ID).Wave)
	after, _ := w.apply(solve.Change{Solve: made.ID, Run: 2, Token: list[1].Lease.Token, Event: solve.Lost{}})
	w.same(2, after.Wave)
	all := w.events(made.ID)
	w.same(solve.Entry{
		Solve: made.ID, Seq: uint64(len(all)), At: w.now, Event: solve.EventWave, From: "running", To: "running",
		Reason: "wave 2 of 4: no run is proven or supported after wave 1",
	}, all[len(all)-1])
	list = w.admit(n1, solve.Caps{})
	w.same([]string{string(made.ID) + "/3"}, names(list))
	after, _ = w.apply(solve.Change{Solve: made.ID, Run: 3, Token: list[0].Lease.Token, Event: solve.Aborted{}})
	w.same(4, after.Wave) // a number that no run has is passed over
	list = w.admit(n1, solve.Caps{})
	after, _ = w.apply(solve.Change{Solve: made.ID, Run: 4, Token: list[0].Lease.Token, Event: solve.Aborted{}})
	w.same(solve.StateReducing, after.State)
	w.gapless(made.ID)
}

func waveGreen(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.ruled(n1, solve.StopWaves, []int{1, 1, 1, 2, 3}, func(s *solve.Solve) { s.Plan.Limits.Parallel = 2 })
	list := w.admit(n1, solve.Caps{})
	w.judged(list[1], "")
	w.ends(made.ID, solve.RunDispatched, solve.RunPassed, solve.RunQueued, solve.RunQueued, solve.RunQueued)
	w.step(w.admit(n1, solve.Caps{})[0], solve.Aborted{}) // the wave goes on to its end
	after, _ := w.apply(solve.Change{Solve: made.ID, Run: 1, Token: list[0].Lease.Token, Event: solve.Aborted{}})
	w.same(solve.StateReducing, after.State)
	w.same(1, after.Wave)
	for _, r := range w.ends(made.ID, solve.RunError, solve.RunPassed, solve.RunError, solve.RunCancelled, solve.RunCancelled)[3:] {
		w.unneeded(r, "not needed: run 2 is proven after wave 1")
	}
	w.gapless(made.ID)
}

func waveRefused(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.ruled(n1, solve.StopWaves, []int{1, 2}, nil)
	after, _ := w.judged(w.admit(n1, solve.Caps{})[0], "it touches a protected path")
	w.same(2, after.Wave)
	w.same(1, len(w.admit(n1, solve.Caps{})))
	w.apply(solve.Change{Solve: made.ID, Event: solve.Aborted{}})

	w.ruled(n1, solve.StopFirstGreen, []int{0, 0}, func(s *solve.Solve) { s.Plan.Limits.Parallel = 1 })
	w.judged(w.admit(n1, solve.Caps{})[0], "it touches a protected path")
	w.same(1, len(w.admit(n1, solve.Caps{})))
}

func firstGreen(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.ruled(n1, solve.StopFirstGreen, []int{0, 0, 0, 0}, func(s *solve.Solve) { s.Plan.Limits.Parallel = 2 })
	list := w.admit(n1, solve.Caps{})
	after, _ := w.judged(list[1], "")
	w.same(solve.StateRunning, after.State)
	for _, r := range w.ends(made.ID, solve.RunDispatched, solve.RunPassed, solve.RunCancelled, solve.RunCancelled)[2:] {
		w.unneeded(r, "not needed: run 2 is proven")
	}
	w.same(0, len(w.admit(n1, solve.Caps{})))
	after, _ = w.apply(solve.Change{Solve: made.ID, Run: 1, Token: list[0].Lease.Token, Event: solve.Cancelled{}})
	w.same(solve.StateReducing, after.State)
	w.same(false, w.run(made.ID, 1).NotNeeded) // whoever ends it says why
	w.gapless(made.ID)
}

func firstGreenRequeued(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.ruled(n1, solve.StopFirstGreen, []int{0, 0}, nil)
	list := w.admit(n1, solve.Caps{})
	w.judged(list[0], "")
	w.step(list[1], solve.Started{})
	after, r := w.apply(solve.Change{Solve: made.ID, Run: 2, Token: list[1].Lease.Token, Event: solve.Requeued{}})
	w.same(solve.StateReducing, after.State)
	w.unneeded(r, "not needed: run 1 is proven")
	w.same(r, w.run(made.ID, 2))
	w.same(1, r.Attempt)
	w.gapless(made.ID)
}

func waveCarried(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	carried := func(n, wave int) solve.Run {
		r := w.carried(n)
		r.Experiment.Wave = wave
		r.Candidate, r.Verdict = &solve.Candidate{}, &solve.Verdict{Outcome: solve.Passed}
		return r
	}
	again := func(n, wave int) solve.Run { return solve.Run{N: n, Experiment: solve.Experiment{Wave: wave}} }
	made := w.ruledRuns(n1, solve.StopWaves, []solve.Run{carried(1, 1), again(2, 2), again(3, 3)}, nil)
	w.same(2, made.Wave)
	list := w.admit(n1, solve.Caps{})
	w.same([]string{string(made.ID) + "/2"}, names(list))
	after, _ := w.apply(solve.Change{Solve: made.ID, Run: 2, Token: list[0].Lease.Token, Event: solve.Aborted{}})
	w.same(3, after.Wave)
	w.apply(solve.Change{Solve: made.ID, Event: solve.Aborted{}})

	made = w.ruledRuns(n1, solve.StopFirstGreen, []solve.Run{carried(1, 0), again(2, 0)}, nil)
	w.ends(made.ID, solve.RunPassed, solve.RunQueued)
}

func waveEnding(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	soon := w.now.Add(10 * time.Minute)
	made := w.ruled(n1, solve.StopWaves, []int{1, 2}, func(s *solve.Solve) { s.Deadline = soon })
	r := w.admit(n1, solve.Caps{})[0]
	w.now = soon
	after, _ := w.apply(solve.Change{Solve: made.ID, Run: 1, Token: r.Lease.Token, Event: solve.TimedOut{}})
	w.same([]any{1, solve.StateRunning}, []any{after.Wave, after.State})
	after, _ = w.apply(solve.Change{Solve: made.ID, Run: 2, Event: solve.TimedOut{}})
	w.same([]any{1, solve.StateReducing}, []any{after.Wave, after.State})
	w.apply(solve.Change{Solve: made.ID, Event: solve.Aborted{}})

	made = w.ruled(n1, solve.StopWaves, []int{1, 2}, nil)
	r = w.admit(n1, solve.Caps{})[0]
	_, err := s.RequestCancel(w.ctx, made.ID, "me", "")
	w.ok(err)
	list := w.ends(made.ID, solve.RunDispatched, solve.RunCancelled)
	w.same("cancelled by me", list[1].Reason)
	w.same(false, list[1].NotNeeded)
	after, _ = w.apply(solve.Change{Solve: made.ID, Run: 1, Token: r.Lease.Token, Event: solve.Cancelled{}})
	w.same([]any{1, solve.StateCancelled}, []any{after.Wave, after.State})
}

func waveOrder(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.ruled(n1, solve.StopWaves, []int{2, 1, 2, 1}, nil)
	id := string(made.ID)
	list := w.admit(n1, solve.Caps{})
	w.same([]string{id + "/2", id + "/4"}, names(list))
	for _, r := range list {
		w.step(r, solve.Aborted{})
	}
	w.same([]string{id + "/1", id + "/3"}, names(w.admit(n1, solve.Caps{})))
}
