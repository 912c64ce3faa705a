package solve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// waved are the cells of a plan with their waves.
func waved(p solve.Plan) (out []string) {
	for i, cell := range cells(p) {
		out = append(out, fmt.Sprintf("%d: %s", p.Experiments[i].Wave, cell))
	}
	return out
}

func TestConfiguredWaves(t *testing.T) {
	t.Parallel()
	def := defaults()
	def.Stop, def.Temps = solve.StopWaves, []float64{0.2}
	def.Waves = []solve.Wave{
		{Models: []string{"small"}}, // twice in the next: it is not run again
		{Models: []string{"small", "fixed"}, Temps: []float64{0.2, 0.6}, Repeat: 2},
		{Models: []string{"small"}},
		{Models: []string{"large"}, Strategies: []string{"test-first"}},
	}
	plan, err := solve.Expand(solve.Request{}, def, takes)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1: small 0.2 e0 plain mini 1",
		"2: small 0.2 e0 plain mini 2", "2: small 0.6 e0 plain mini 1", "2: small 0.6 e0 plain mini 2",
		"2: fixed - e0 plain mini 1", "2: fixed - e0 plain mini 2",
		"3: large 0.2 e0 test-first mini 1",
	}
	if diff := cmp.Diff(want, waved(plan)); diff != "" {
		t.Error(diff)
	}
	notes := []string{
		"model fixed takes no temperature, so 4 of its experiments became 2",
		"wave 2: 1 experiment of an earlier wave left out", "wave 3: 1 experiment of an earlier wave left out",
		"3 waves, of 1, 5 and 1 experiments: the next one starts only if no run is proven or supported (stop=waves)",
	}
	if diff := cmp.Diff(notes, plan.Notes); diff != "" {
		t.Error(diff)
	}
	if plan.Stop != solve.StopWaves || plan.Waves() != 3 || plan.StrategyText["test-first"] == "" {
		t.Errorf("%+v", plan)
	}
	if diff := cmp.Diff([]string{"small", "large", "fixed"}, plan.Order); diff != "" {
		t.Error(diff)
	}
}

// What a request names goes before what a wave says; models are waves of their own.
func TestWavesOfARequest(t *testing.T) {
	t.Parallel()
	def := defaults()
	def.Waves = []solve.Wave{{Models: []string{"small"}, Repeat: 3}, {Models: []string{"large"}, Temps: []float64{1}}}
	for name, c := range map[string]struct {
		req  solve.Request
		want []string
	}{
		"axes": {
			solve.Request{Stop: solve.StopWaves, Temps: []float64{0}, Repeat: 1},
			[]string{"1: small 0 e0 plain mini 1", "2: large 0 e0 plain mini 1"},
		},
		"models": {
			solve.Request{Stop: solve.StopWaves, Models: []string{"large", "small", "large"}, Temps: []float64{0.5}, Repeat: 2},
			[]string{"1: large 0.5 e0 plain mini 1", "1: large 0.5 e0 plain mini 2", "2: small 0.5 e0 plain mini 1", "2: small 0.5 e0 plain mini 2"},
		},
		"another rule": {
			solve.Request{Stop: solve.StopFirstGreen, Models: []string{"small"}, Temps: []float64{0.5}},
			[]string{"0: small 0.5 e0 plain mini 1"},
		},
	} {
		plan, err := solve.Expand(c.req, def, takes)
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(c.want, waved(plan)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestStopRulesArePinnedAndTold(t *testing.T) {
	t.Parallel()
	for rule, note := range map[solve.StopRule]string{
		"": "", solve.StopAll: "", solve.StopFirstGreen: "ends with the first experiment that is proven", solve.StopWaves: "2 waves, of 2 and 2",
	} {
		def := defaults()
		def.Waves = []solve.Wave{{Models: []string{"small"}}, {Models: []string{"large"}}}
		plan, err := solve.Expand(solve.Request{Stop: rule}, def, takes)
		want := rule
		if rule == "" {
			want = solve.StopAll
		}
		if got := strings.Join(plan.Notes, "; "); err != nil || plan.Stop != want || !strings.Contains(got, note) || note == "" && got != "" {
			t.Errorf("%q: %v, %q, %s", rule, err, plan.Stop, got)
		}
	}
}

func TestWavesThatCannotBe(t *testing.T) {
	t.Parallel()
	def := defaults()
	def.Waves = []solve.Wave{{Models: []string{"smal"}}, {Models: []string{"small", "large"}, Repeat: 7}, {Strategies: []string{"plan"}}}
	for name, c := range map[string]struct {
		req   solve.Request
		waves []solve.Wave
		want  []string
	}{
		"none":    {solve.Request{Stop: solve.StopWaves}, nil, []string{"(solver.waves)", "models=small,large"}},
		"unknown": {solve.Request{Stop: "wave"}, def.Waves, []string{`"wave" is no stop rule`}},
		"each": {
			solve.Request{Stop: solve.StopWaves, Agents: []string{"max"}}, def.Waves,
			[]string{`"smal"`, `"plan"`, `"max"`, "the 3 waves together have", "more than the limit of 24"},
		},
	} {
		def := def
		def.Waves = c.waves
		plan, err := solve.Expand(c.req, def, takes)
		if err == nil || len(plan.Experiments) > 0 {
			t.Fatalf("%s: %+v", name, plan)
		}
		for _, want := range c.want {
			if n := strings.Count(err.Error(), want); n != 1 {
				t.Errorf("%s: %q is there %d times: %v", name, want, n, err)
			}
		}
	}
}

// runOfWave is a run in a state of a wave; one that passed is proven.
func runOfWave(n, wave int, state solve.RunState) solve.Run {
	r := solve.Run{N: n, State: state, Experiment: solve.Experiment{Wave: wave}}
	if state == solve.RunPassed {
		r.Verdict, r.Candidate = &solve.Verdict{Outcome: solve.Passed, Fixed: 1}, &solve.Candidate{}
	}
	return r
}

func TestCurrentWave(t *testing.T) {
	t.Parallel()
	const queued, working, failed, passed = solve.RunQueued, solve.RunWorking, solve.RunFailed, solve.RunPassed
	for _, c := range []struct {
		rule   solve.StopRule
		wave   int
		states []solve.RunState // two of each wave
		next   int
		enough string
	}{
		{solve.StopWaves, 0, []solve.RunState{queued, queued, queued, queued}, 1, ""},
		{solve.StopWaves, 1, []solve.RunState{working, passed, queued, queued}, 1, ""},
		{solve.StopWaves, 1, []solve.RunState{failed, passed, queued, queued}, 1, "not needed: run 2 is proven after wave 1"},
		{solve.StopWaves, 1, []solve.RunState{failed, failed, queued, queued}, 2, ""},
		{solve.StopWaves, 2, []solve.RunState{failed, failed, passed, passed, queued}, 2, "not needed: run 3 is proven after wave 2"},
		{solve.StopWaves, 2, []solve.RunState{failed, failed, failed, failed}, 2, ""},
		{solve.StopFirstGreen, 0, []solve.RunState{working, queued}, 0, ""},
		{solve.StopFirstGreen, 0, []solve.RunState{working, passed, queued}, 0, "not needed: run 2 is proven"},
		{solve.StopAll, 0, []solve.RunState{working, passed, queued}, 0, ""},
		{"", 0, []solve.RunState{working, passed, queued}, 0, ""},
	} {
		s := solve.Solve{Plan: solve.Plan{Stop: c.rule}, Wave: c.wave}
		var runs []solve.Run
		for i, state := range c.states {
			runs = append(runs, runOfWave(i+1, 1+i/2, state))
		}
		if next, enough := s.CurrentWave(runs); next != c.next || enough != c.enough {
			t.Errorf("%s, wave %d, %v: %d, %q; want %d, %q", c.rule, c.wave, c.states, next, enough, c.next, c.enough)
		}
		if c.enough == "" {
			continue
		}
		for i := range runs { // a refused patch and a run of an earlier solve end nothing
			switch {
			case runs[i].State != passed:
			case i%2 == 0:
				runs[i].From = &solve.Origin{}
			default:
				runs[i].Candidate = &solve.Candidate{Refused: "no"}
			}
		}
		if _, enough := s.CurrentWave(runs); enough != "" {
			t.Errorf("%s, %v: %q", c.rule, c.states, enough)
		}
	}
}

// TestRepeatIsTold where nothing else tells two runs apart.
func TestRepeatIsTold(t *testing.T) {
	t.Parallel()
	runs := []solve.Run{runOfWave(1, 0, solve.RunPassed), runOfWave(2, 0, solve.RunPassed)}
	runs[0].Experiment.Repeat, runs[1].Experiment.Repeat = 1, 2
	d := solve.Reduce(runs, solve.Rule{})
	if c := d.Comparisons[0]; d.Champion != 1 || c.Criterion != "run" || c.Left != "run 1" || c.Right != "run 2, repeat 2" {
		t.Errorf("%+v", d)
	}
}

func TestSaved(t *testing.T) {
	t.Parallel()
	run := func(n int, model string, cost solve.Money, state solve.RunState, needed bool) solve.Run {
		r := solve.Run{N: n, State: state, Attempt: 1, NotNeeded: !needed, Experiment: solve.Experiment{Model: model}}
		if r.Progress.Usage.Cost = cost; cost > 0 {
			r.Progress.Usage.Calls = 1
		}
		return r
	}
	unstarted := func(r solve.Run) solve.Run { r.Attempt = 0; return r }
	old := run(9, "a", 9_000_000, solve.RunPassed, true)
	old.From = &solve.Origin{}
	runs := []solve.Run{
		run(1, "a", 300_000, solve.RunPassed, true), run(2, "a", 100_000, solve.RunEmpty, true), run(3, "b", 800_000, solve.RunFailed, true),
		run(4, "a", 50_000, solve.RunCancelled, false),        // another 150 000
		run(5, "b", 900_000, solve.RunCancelled, false),       // no more than it cost
		unstarted(run(6, "c", 0, solve.RunCancelled, false)),  // 400 000, as all
		unstarted(run(7, "a", 0, solve.RunCancelled, false)),  // 200 000
		run(8, "a", 7_000_000, solve.RunCancelled, true), old, // neither counts
		run(10, "a", 0, solve.RunError, true), // nor one that asked nobody
	}
	if diff := cmp.Diff(solve.Saved{NotRun: 2, Stopped: 2, Money: 750_000}, solve.SavedBy(runs)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(solve.Saved{NotRun: 1}, solve.SavedBy(runs[5:6])); diff != "" {
		t.Error(diff)
	}
}
