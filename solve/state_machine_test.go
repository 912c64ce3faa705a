package solve_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

// Every pair of state and event is in the golden file, refused ones with a dash.
func TestTableIsGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, s := range solve.States() {
		for _, ev := range eventNames() {
			line(&b, "solve", s, ev, solve.NextSolve)
		}
	}
	for _, s := range solve.RunStates() {
		for _, ev := range eventNames() {
			line(&b, "run", s, ev, solve.NextRun)
		}
	}
	golden(t, "testdata/table.golden", b.String())
}

func line[S ~string](b *strings.Builder, what string, s S, ev solve.EventName, next func(S, solve.EventName) (S, error)) {
	to, err := next(s, ev)
	if err != nil {
		to = "-"
	}
	fmt.Fprintf(b, "%s %s %s -> %s\n", what, s, ev, to)
}

func TestRefusedStepNamesBothAndKeepsTheState(t *testing.T) {
	t.Parallel()
	s, err := solve.NextSolve(solve.StateSolved, solve.EventClaimed)
	refused(t, string(s), "solved", err, "solve", `"solved"`, `"claimed"`)
	r, err := solve.NextRun(solve.RunQueued, solve.EventHarvested)
	refused(t, string(r), "queued", err, "run", `"queued"`, `"harvested"`)
}

func refused(t *testing.T, got, want string, err error, words ...string) {
	t.Helper()
	if got != want || !errors.Is(err, solve.ErrTransition) {
		t.Fatalf("got %q, %v; want %q and ErrTransition", got, err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not name %s", err, w)
		}
	}
}

// What holds for every state, whatever the table says in detail.
func TestTableRules(t *testing.T) {
	t.Parallel()
	rules(t, solve.States(), solve.SolveSteps(), solve.NextSolve, solve.State.Final, solve.StateCancelled, solve.StateFailed)
	rules(t, solve.RunStates(), solve.RunSteps(), solve.NextRun, solve.RunState.Final, solve.RunCancelled, solve.RunError)
}

func rules[S ~string](t *testing.T, states []S, steps []solve.Step[S], next func(S, solve.EventName) (S, error), final func(S) bool, cancelled, failed S) {
	t.Helper()
	reached := map[S]bool{states[0]: true}
	for range states {
		for _, step := range steps {
			if reached[step.From] {
				reached[step.To] = true
			}
		}
	}
	type pair struct {
		s  S
		on solve.EventName
	}
	seen := map[pair]bool{}
	for _, step := range steps {
		if seen[pair{step.From, step.On}] {
			t.Errorf("%s on %s is in the table twice", step.From, step.On)
		}
		seen[pair{step.From, step.On}] = true
		if !slices.Contains(eventNames(), step.On) || !slices.Contains(states, step.From) || !slices.Contains(states, step.To) {
			t.Errorf("%v has a word that is in no list", step)
		}
	}
	for _, s := range states {
		if !reached[s] {
			t.Errorf("%s is never reached", s)
		}
		for ev, want := range map[solve.EventName]S{solve.EventCancelled: cancelled, solve.EventFailed: failed} {
			to, err := next(s, ev)
			if final(s) {
				if err == nil {
					t.Errorf("%s is final but %s leads to %s", s, ev, to)
				}
			} else if to != want {
				t.Errorf("%s on %s is %s, want %s", s, ev, to, want)
			}
		}
	}
}

func TestFinalStatesNeverChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, r := solve.StateQueued, solve.RunQueued
		for range rapid.IntRange(0, 12).Draw(t, "length") {
			s = walk(t, s, likely(t, s, solve.SolveSteps()), solve.NextSolve, solve.State.Final)
			r = walk(t, r, likely(t, r, solve.RunSteps()), solve.NextRun, solve.RunState.Final)
		}
	})
}

// likely draws an event of which half are steps of the table, so that walks get far.
func likely[S ~string](t *rapid.T, s S, steps []solve.Step[S]) solve.EventName {
	events := eventNames()
	for i := 0; len(events) < 40 && i < len(steps); i++ {
		if steps[i].From == s {
			events = append(events, steps[i].On, steps[i].On, steps[i].On)
		}
	}
	return rapid.SampledFrom(events).Draw(t, "event")
}

func walk[S ~string](t *rapid.T, s S, ev solve.EventName, next func(S, solve.EventName) (S, error), final func(S) bool) S {
	to, err := next(s, ev)
	if err != nil && to != s {
		t.Fatalf("refused %s on %s moved it to %s", ev, s, to)
	}
	if final(s) && (err == nil || to != s) {
		t.Fatalf("final %s moved to %s on %s", s, to, ev)
	}
	return to
}

func TestActiveMeansOwned(t *testing.T) {
	t.Parallel()
	for _, s := range solve.RunStates() {
		_, err := solve.NextRun(s, solve.EventAdopted)
		if s.Active() != (err == nil) {
			t.Errorf("%s: active %v, adoptable %v", s, s.Active(), err == nil)
		}
		if s.Active() && s.Final() {
			t.Errorf("%s is active and final", s)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add("queued", "claimed")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, state, event string) {
		to, err := solve.NextSolve(solve.State(state), solve.EventName(event))
		if err != nil && (to != solve.State(state) || !errors.Is(err, solve.ErrTransition)) {
			t.Errorf("%q on %q gave %q, %v", state, event, to, err)
		}
		if err == nil && !slices.Contains(solve.States(), to) {
			t.Errorf("unknown state %q", to)
		}
	})
}

// eventNames are those of every event, those of a solve first.
func eventNames() []solve.EventName {
	return []solve.EventName{
		solve.EventGreeted, solve.EventClaimed, solve.EventBaseReady, solve.EventWave, solve.EventRunsEnded, solve.EventChampion, solve.EventNoChampion,
		solve.EventPublished, solve.EventExpired, solve.EventCancelled, solve.EventFailed,
		solve.EventAdmitted, solve.EventStarted, solve.EventAdopted, solve.EventRequeued, solve.EventLost, solve.EventAgentEnded,
		solve.EventHarvested, solve.EventEmpty, solve.EventTimedOut, solve.EventPassed, solve.EventTestsFail, solve.EventNoVerdict,
	}
}
