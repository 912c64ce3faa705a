package solve_test

import (
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// reproducing is a reproducer whose tests fail on the base.
func reproducing(n int, model string, tests ...string) solve.Run {
	r := changing(n, model)
	r.Experiment.Purpose = solve.PurposeReproduce
	r.Candidate.SHA256, r.Candidate.Files = "tests", []solve.FileChange{{Path: "a_test.go", Op: "add", Test: true}}
	r.Verdict = &solve.Verdict{Outcome: solve.Passed, Proofs: len(tests), ProofTests: tests}
	return r
}

// reproduced is a decision after these tests of run 4 passed with these runs.
func reproduced(passed ...solve.CrossResult) solve.Decision {
	d := solve.Decision{Champion: 1}
	for _, c := range passed {
		c.Author = 4
		d.Cross = append(d.Cross, c)
	}
	return d
}

func on(run int, passed ...string) solve.CrossResult {
	return solve.CrossResult{Run: run, Passed: passed}
}

// TestReproducerCannotWin: it is compared with nobody, and its tests run on each candidate first.
func TestReproducerCannotWin(t *testing.T) {
	t.Parallel()
	runs := []solve.Run{changing(1, "small"), changing(2, "large"), reproducing(3, "large", "TestIssue")}
	d := solve.Reduce(runs, solve.Rule{})
	if d.Champion != 1 || !slices.Equal(d.Ranking, []int{1, 2}) || solve.Eligible(runs[2]) || solve.GradeOf(runs, nil, 3) != "" {
		t.Errorf("%+v", d)
	}
	if d := solve.Reduce(runs[2:], solve.Rule{}); d.Champion != 0 || d.Ranking != nil {
		t.Errorf("alone: %+v", d)
	}
	if got := solve.Trials(solve.Solve{Decision: &d}, runs[2:], solve.Fate{}); got != nil {
		t.Errorf("its model's record: %+v", got)
	}
	runs[1].Verdict.ProofTests = []string{"TestMine"}
	runs[0].Candidate.SHA256, runs[1].Candidate.SHA256 = "a", "b"
	if got := solve.CrossPairs(runs, 9); !slices.Equal(got, []solve.CrossPair{{3, 1}, {3, 2}, {2, 1}}) {
		t.Errorf("%v", got)
	}
	if got := solve.CrossPairs(runs[1:], 9); !slices.Equal(got, []solve.CrossPair{{3, 2}}) {
		t.Errorf("one candidate: %v", got)
	}
	failed := reproducing(3, "large", "TestIssue")
	failed.State, failed.Verdict.Outcome = solve.RunFailed, solve.Failed
	if got := solve.CrossPairs([]solve.Run{runs[0], failed}, 9); got != nil {
		t.Errorf("a failed one judges: %v", got)
	}
}

// TestReproductionTestsProve: by what passes, who is proven, and what is offered.
func TestReproductionTestsProve(t *testing.T) {
	t.Parallel()
	const proven, unproven = solve.Proven, solve.Unproven
	runs := []solve.Run{changing(1, "small"), changing(2, "large"), changing(3, "large"), reproducing(4, "large", "TestIssue", "TestEdge")}
	for i := range runs {
		runs[i].Candidate.SHA256 = string(rune('a' + i))
	}
	for name, c := range map[string]struct {
		d       solve.Decision
		grades  [3]solve.Grade
		offered int
	}{
		"two models":                       {reproduced(on(1, "TestIssue", "TestEdge"), on(2, "TestIssue", "TestEdge")), [3]solve.Grade{proven, proven, unproven}, 4},
		"nobody":                           {reproduced(on(1), on(2), on(3)), [3]solve.Grade{unproven, unproven, unproven}, 0},
		"only another model":               {reproduced(on(1, "TestIssue", "TestEdge")), [3]solve.Grade{proven, unproven, unproven}, 0},
		"only the reproducer's own model":  {reproduced(on(2, "TestIssue", "TestEdge"), on(3, "TestIssue", "TestEdge")), [3]solve.Grade{unproven, unproven, unproven}, 0},
		"a part of them":                   {reproduced(on(1, "TestIssue"), on(2, "TestIssue", "TestEdge")), [3]solve.Grade{proven, proven, unproven}, 0},
		"two models, and not the champion": {withChampion(3, reproduced(on(1, "TestIssue", "TestEdge"), on(2, "TestIssue", "TestEdge"))), [3]solve.Grade{proven, proven, unproven}, 0},
	} {
		for n, want := range c.grades {
			if got := solve.GradeOf(runs, c.d.Cross, n+1); got != want {
				t.Errorf("%s: run %d is %s, want %s", name, n+1, got, want)
			}
		}
		if got := c.d.Offered(runs); got != c.offered {
			t.Errorf("%s: offered %d, want %d", name, got, c.offered)
		}
	}
	d := reproduced(on(1, "TestIssue"), on(2, "TestIssue"))
	if got := solve.GradeReason(runs, d, 1, "main"); got != "a test that another run wrote from the issue alone fails without this change and passes with it" {
		t.Error(got)
	}
	if d := solve.Reduce(runs, solve.Rule{Cross: reproduced(on(3, "TestIssue"), on(1), on(2)).Cross}); d.Champion != 3 {
		t.Errorf("what passes the test comes first: %v", d.Ranking)
	}
}

func withChampion(n int, d solve.Decision) solve.Decision { d.Champion = n; return d }

// TestPublishedTests: only tests that are offered, and only where the champion has none.
func TestPublishedTests(t *testing.T) {
	t.Parallel()
	runs := []solve.Run{changing(1, "small"), changing(2, "large"), changing(3, "other"), reproducing(4, "large", "TestIssue")}
	runs[0].Candidate.SHA256, runs[1].Candidate.SHA256 = "a", "b"
	d := reproduced(on(1, "TestIssue"), on(2, "TestIssue"))
	s := solve.Solve{Decision: &d, Plan: solve.Plan{Settings: &solve.Settings{PublishTests: true}}}
	if got := s.PublishesTests(runs); got != 4 {
		t.Errorf("offered: %d", got)
	}
	runs[0].Candidate.Files = []solve.FileChange{{Path: "b_test.go", Test: true}}
	if got := s.PublishesTests(runs); got != 0 {
		t.Errorf("the champion has tests: %d", got)
	}
	runs[0].Candidate.Files = nil
	runs[3].Candidate.Deleted = 1
	if got := s.PublishesTests(runs); got != 0 {
		t.Errorf("it changes tests that are there: %d", got)
	}
	runs[3].Candidate.Deleted = 0
	for name, other := range map[string]solve.Solve{
		"turned off":   {Decision: &d, Plan: solve.Plan{Settings: &solve.Settings{}}},
		"an old plan":  {Decision: &d},
		"not decided":  {Plan: s.Plan},
		"not offered":  {Plan: s.Plan, Decision: &solve.Decision{Champion: 1}},
		"no champion":  {Plan: s.Plan, Decision: &solve.Decision{Cross: d.Cross}},
		"another won":  {Plan: s.Plan, Decision: &solve.Decision{Champion: 3, Cross: d.Cross}},
		"nothing ran":  {Plan: s.Plan, Decision: &solve.Decision{Champion: 1, Cross: []solve.CrossResult{{Author: 4, Run: 1}}}},
		"one model's":  {Plan: s.Plan, Decision: &solve.Decision{Champion: 1, Cross: d.Cross[:1]}},
		"other author": {Plan: s.Plan, Decision: &solve.Decision{Champion: 1, Cross: []solve.CrossResult{{Author: 2, Run: 1, Passed: []string{"TestIssue"}}}}},
	} {
		if got := other.PublishesTests(runs); got != 0 {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestPlanReproducer(t *testing.T) {
	t.Parallel()
	cost := func(model string) solve.Money { return solve.Money(len(model)) }
	x := func(model string, wave int) solve.Experiment {
		return solve.Experiment{Agent: "mini", Model: model, Strategy: "small-steps", MaxEdits: 3, Repeat: 2, Wave: wave}
	}
	for name, c := range map[string]struct {
		rule  solve.ReproduceRule
		runs  int
		plan  []solve.Experiment
		model string // "" for none
		wave  int
	}{
		"another than the cheapest":  {"auto", 9, []solve.Experiment{x("s", 0), x("s", 0), x("large", 0), x("larger", 0)}, "large", 0},
		"the cheapest comes last":    {"auto", 9, []solve.Experiment{x("large", 0), x("s", 0)}, "large", 0},
		"with the wave of its model": {"auto", 9, []solve.Experiment{x("s", 1), x("large", 2)}, "large", 2},
		"one model":                  {"auto", 9, []solve.Experiment{x("s", 0), x("s", 0)}, "s", 0},
		"one experiment":             {"auto", 9, []solve.Experiment{x("s", 0)}, "", 0},
		"one experiment, always":     {"always", 9, []solve.Experiment{x("s", 0)}, "s", 0},
		"off":                        {"off", 9, []solve.Experiment{x("s", 0), x("large", 0)}, "", 0},
		"a plan of an old version":   {"", 9, []solve.Experiment{x("s", 0), x("large", 0)}, "", 0},
		"its tests would not run":    {"always", 0, []solve.Experiment{x("s", 0), x("large", 0)}, "", 0},
	} {
		got := solve.PlanReproducer(solve.Plan{Experiments: c.plan}, solve.Settings{Reproduce: c.rule, CrossRuns: c.runs}, cost)
		switch {
		case (got == nil) != (c.model == ""):
			t.Errorf("%s: %+v", name, got)
		case got != nil && *got != (solve.Experiment{Agent: "mini", Model: c.model, Repeat: 1, Wave: c.wave, Purpose: solve.PurposeReproduce}):
			t.Errorf("%s: %+v", name, *got)
		}
	}
}

func TestWantsReproducer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule   solve.ReproduceRule
		failed int
		format string
		want   bool
	}{
		"green base":             {"auto", 0, "go", true},
		"a test fails":           {"auto", 1, "go", false},
		"a test fails, always":   {"always", 1, "go", true},
		"the exit code is known": {"always", 0, "exit", false},
	} {
		s := solve.Solve{Plan: solve.Plan{Reproducer: &solve.Experiment{}, Settings: &solve.Settings{Reproduce: c.rule}}}
		s.Base.Report.Failed, s.Base.Test.Format = c.failed, c.format
		if got := s.WantsReproducer(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		s.Plan.Reproducer = nil
		if s.WantsReproducer() {
			t.Errorf("%s: none is planned", name)
		}
	}
}

// TestReproducerIsNotWaitedFor: longer than it can be of use.
func TestReproducerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	waiting, ready := reproducing(3, "large"), changing(1, "small")
	waiting.State, waiting.Verdict, waiting.Candidate = solve.RunWorking, nil, nil
	atWork, failed, fixed := changing(2, "large"), changing(2, "large"), changing(2, "large")
	atWork.State, failed.State, fixed.Verdict.Fixed = solve.RunWorking, solve.RunFailed, 1
	bad := changing(1, "small")
	bad.State = solve.RunFailed
	for name, c := range map[string]struct {
		stop solve.StopRule
		runs []solve.Run
		want string
	}{
		"a candidate is at work":           {solve.StopAll, []solve.Run{bad, atWork}, ""},
		"there is a candidate to test":     {solve.StopAll, []solve.Run{ready, failed}, ""},
		"one is proven, and all count":     {solve.StopAll, []solve.Run{ready, fixed}, ""},
		"no candidate passed":              {solve.StopAll, []solve.Run{bad, failed}, "not needed: no candidate passed"},
		"no candidate passed, with waves":  {solve.StopWaves, []solve.Run{bad, failed}, "not needed: no candidate passed"},
		"one is proven, and that suffices": {solve.StopWaves, []solve.Run{ready, fixed}, "not needed: run 2 is proven"},
		"the first green one suffices":     {solve.StopFirstGreen, []solve.Run{ready, fixed}, "not needed: run 2 is proven"},
		"nothing is shown":                 {solve.StopWaves, []solve.Run{ready, failed}, ""},
	} {
		runs := append(c.runs, waiting)
		s := solve.Solve{State: solve.StateRunning, Plan: solve.Plan{Stop: c.stop, Reproducer: &waiting.Experiment}}
		if got := s.Redundant(waiting, 0, runs, solve.Rule{}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNoWaveWaitsForAReproducer: and its own wave begins if nothing else does.
func TestNoWaveWaitsForAReproducer(t *testing.T) {
	t.Parallel()
	ended := changing(1, "small")
	ended.Experiment.Wave = 1
	second := solve.Run{N: 2, State: solve.RunQueued, Experiment: solve.Experiment{Model: "large", Wave: 2}}
	tests := solve.Run{N: 3, State: solve.RunWorking, Experiment: solve.Experiment{Wave: 1, Purpose: solve.PurposeReproduce}}
	s := solve.Solve{State: solve.StateRunning, Wave: 1, Plan: solve.Plan{Stop: solve.StopWaves}}
	if wave, enough := s.CurrentWave([]solve.Run{ended, second, tests}); wave != 2 || enough != "" {
		t.Errorf("wave %d %q", wave, enough)
	}
	second.State, tests.State, tests.Experiment.Wave = solve.RunCancelled, solve.RunQueued, 2
	if wave, enough := s.CurrentWave([]solve.Run{ended, second, tests}); wave != 2 || enough != "" {
		t.Errorf("alone: wave %d %q", wave, enough)
	}
}
