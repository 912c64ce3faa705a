package solve_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/storetest"
)

// records is one solve with its runs, as a store would hold them.
type records struct {
	s      solve.Solve
	runs   []solve.Run
	events []solve.Entry
	fate   solve.Fate
	track  solve.TrackRecord
}

const owner = "node"

func (r *records) Solve(id solve.ID) (solve.Solve, error) {
	if id != r.s.ID {
		return solve.Solve{}, solve.ErrNotFound
	}
	return r.s, nil
}

func (r *records) Run(_ solve.ID, n int) (solve.Run, error) {
	if n < 1 || n > len(r.runs) {
		return solve.Run{}, solve.ErrNotFound
	}
	return r.runs[n-1], nil
}

func (r *records) Runs(solve.ID) ([]solve.Run, error) { return slices.Clone(r.runs), nil }
func (r *records) Alive(node string) bool             { return node == owner }
func (r *records) Fate(solve.ID) (solve.Fate, error)  { return r.fate, nil }

func (r *records) TrackRecord(int64) (solve.TrackRecord, error) { return r.track, nil }

func (r *records) Unfinished(_ solve.ID, most int) (n int) {
	for _, one := range r.runs {
		if !one.State.Final() {
			n++
		}
	}
	return min(n, most)
}

// write keeps what follows from an event, as an engine does.
func (r *records) write(all *solve.Transition) {
	r.s = all.Solve
	for _, c := range all.Runs {
		if c.Before == nil {
			r.runs = append(r.runs, c.After)
		} else {
			r.runs[c.After.N-1] = c.After
		}
	}
	r.events = append(r.events, all.Entries...)
}

func begin(state solve.State, runs ...solve.RunState) *records {
	r := &records{s: solve.Solve{ID: "s", State: state, Lease: solve.Lease{Node: owner, Token: 3}}}
	for i, s := range runs {
		one := solve.Run{Solve: "s", N: i + 1, State: s, Lease: solve.Lease{Token: 5}}
		if s.Active() {
			one.Lease.Node = owner
		}
		r.runs = append(r.runs, one)
	}
	return r
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestApplyEveryPair applies each event to a solve in each state and to a run in each state.
func TestApplyEveryPair(t *testing.T) {
	t.Parallel()
	for _, ev := range storetest.Events() {
		for _, state := range solve.States() {
			r := begin(state)
			all, err := solve.Apply(r, solve.Change{Solve: "s", Event: ev, Reason: "why"}, noon)
			want, refused := solve.NextSolve(state, solve.NameOf(ev))
			if refused != nil {
				expect(t, all, err, solve.ErrTransition)
				continue
			}
			if err != nil || all.Solve.State != want || all.Entries[0].Event != solve.NameOf(ev) || all.Entries[0].Reason != "why" {
				t.Errorf("%T of a solve that is %s: %v, %+v", ev, state, err, all)
			}
			if want.Final() && (all.Solve.Reason != "why" || !all.Solve.Ended.Equal(noon) || all.Solve.Lease.Node != "") {
				t.Errorf("%T of a solve that is %s left %+v", ev, state, all.Solve)
			}
		}
		for _, state := range solve.RunStates() {
			r := begin(solve.StateRunning, state, solve.RunQueued)
			all, err := solve.Apply(r, solve.Change{Solve: "s", Run: 1, Event: ev, Reason: "why"}, noon)
			want, refused := solve.NextRun(state, solve.NameOf(ev))
			if refused != nil {
				expect(t, all, err, solve.ErrTransition)
				continue
			}
			if err != nil || all.Run.State != want || len(all.Runs) != 1 || all.Solve.State != solve.StateRunning {
				t.Errorf("%T of a run that is %s: %v, %+v", ev, state, err, all)
			}
			if want.Active() != (all.Run.Lease.Node != "") || want.Final() != all.Run.Ended.Equal(noon) {
				t.Errorf("%T of a run that is %s left %+v", ev, state, all.Run)
			}
		}
	}
}

func expect(t *testing.T, all *solve.Transition, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || all != nil {
		t.Errorf("error is %v with %+v, want %v", err, all, want)
	}
}

// TestOnlyTheLivingOwnerWrites: an old token, a token that was given up and a dead node are refused.
func TestOnlyTheLivingOwnerWrites(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]solve.Lease{"old token": {Node: owner, Token: 4}, "given up": {Token: 3}, "dead": {Node: "dead", Token: 3}} {
		r := begin(solve.StateRunning, solve.RunWorking)
		r.s.Lease, r.runs[0].Lease = lease, lease
		for n := range 2 {
			all, err := solve.Apply(r, solve.Change{Solve: "s", Run: n, Token: 3, Event: solve.Aborted{}}, noon)
			if all != nil || !errors.Is(err, solve.ErrLeaseLost) {
				t.Errorf("%s, run %d: %v", name, n, err)
			}
		}
	}
}

// TestRandomLives sends random events to a solve and its runs. What a rule returns is the
// same when it is asked again, final states never change, and the invariants hold.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := begin(solve.StateQueued)
		for i := range rapid.IntRange(1, 40).Draw(t, "length") {
			before := records{s: r.s, runs: slices.Clone(r.runs)}
			at := noon.Add(time.Duration(i) * time.Second)
			rule := draw(t, r, at)
			all, err := rule(r)
			again, errAgain := rule(r)
			if diff := cmp.Diff(before.s, r.s) + cmp.Diff(before.runs, r.runs); diff != "" {
				t.Fatalf("the rule changed what it read:\n%s", diff)
			}
			if err != nil {
				continue
			}
			if diff := cmp.Diff(all.Runs, again.Runs) + cmp.Diff(all.Entries, again.Entries) + cmp.Diff(all.Effects, again.Effects); diff != "" || errAgain != nil {
				t.Fatalf("asked again it says something else: %v\n%s", errAgain, diff)
			}
			r.write(all)
			before.invariants(t, r)
		}
	})
}

// draw is a rule with random content, one that goes on being the likeliest.
func draw(t *rapid.T, r *records, at time.Time) func(*records) (*solve.Transition, error) {
	pick := rapid.IntRange(0, 9).Draw(t, "rule")
	n := rapid.IntRange(0, len(r.runs)).Draw(t, "run")
	switch {
	case pick == 0 && rapid.Bool().Draw(t, "cancel"):
		return func(r *records) (*solve.Transition, error) { return solve.Cancel(r, "s", "me", "", at) }
	case pick < 4 && n > 0:
		return func(r *records) (*solve.Transition, error) { return solve.Admit(r, "s", n, owner, at) }
	}
	c := solve.Change{Solve: "s", Run: n, Event: drawEvent(t, r, n), Reason: "reason"}
	return func(r *records) (*solve.Transition, error) { return solve.Apply(r, c, at) }
}

func drawEvent(t *rapid.T, r *records, n int) solve.Event {
	var likely []solve.Event
	for _, ev := range storetest.Events() {
		to, err := solve.NextSolve(r.s.State, solve.NameOf(ev))
		ends := to.Final() && rapid.IntRange(0, 5).Draw(t, "end") > 0
		if n > 0 {
			_, err = solve.NextRun(r.runs[n-1].State, solve.NameOf(ev))
			ends = false
		}
		if err == nil && !ends {
			likely = append(likely, ev)
		}
	}
	if len(likely) == 0 || rapid.IntRange(0, 9).Draw(t, "any") == 0 {
		likely = storetest.Events()
	}
	ev := rapid.SampledFrom(likely).Draw(t, "event")
	switch ev.(type) {
	case solve.Claimed:
		stop := rapid.SampledFrom(append(solve.StopRules(), "")).Draw(t, "stop")
		seconds := rapid.SampledFrom([]int{0, 5, 100}).Draw(t, "seconds")
		return solve.Claimed{Plan: solve.Plan{Stop: stop, Limits: solve.Limits{SolveTime: time.Duration(seconds) * time.Second}}}
	case solve.BaseReady:
		var list []solve.Run
		for i := range rapid.IntRange(0, 4).Draw(t, "runs") {
			list = append(list, solve.Run{N: i + 1, Experiment: solve.Experiment{Wave: rapid.IntRange(1, 3).Draw(t, "wave")}})
		}
		return solve.BaseReady{Runs: list}
	default:
		return ev
	}
}

// invariants compares the records before a transition with those after it.
func (was records) invariants(t *rapid.T, is *records) {
	if was.s.State.Final() && cmp.Diff(was.s, is.s) != "" {
		t.Fatalf("a solve that was %s became %+v", was.s.State, is.s)
	}
	for i, r := range was.runs {
		now := is.runs[i]
		if r.State.Final() && cmp.Diff(r, now) != "" {
			t.Fatalf("run %d was %s and became %+v", r.N, r.State, now)
		}
		if now.Lease.Token < r.Lease.Token {
			t.Fatalf("the token of run %d fell", r.N)
		}
	}
	if is.s.Wave < was.s.Wave {
		t.Fatalf("wave %d came after wave %d", is.s.Wave, was.s.Wave)
	}
	for _, r := range is.runs {
		if r.State.Active() != (r.Lease.Node != "") {
			t.Fatalf("run %d is %s and has the owner %q", r.N, r.State, r.Lease.Node)
		}
		if !r.State.Final() && is.s.State != solve.StateRunning {
			t.Fatalf("run %d is %s in a solve that is %s", r.N, r.State, is.s.State)
		}
	}
	if is.s.State == solve.StateRunning && len(is.runs) > 0 && is.Unfinished("s", 1) == 0 {
		t.Fatal("all runs ended, and the solve goes on")
	}
	state := map[int]string{0: string(solve.StateQueued)}
	for i, e := range is.events {
		if from, known := state[e.Run]; e.Seq != uint64(i+1) || known && from != e.From {
			t.Fatalf("event %d is %+v, and the state was %s", i+1, e, fmt.Sprint(from))
		}
		state[e.Run] = e.To
	}
}
