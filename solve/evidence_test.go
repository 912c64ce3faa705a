package solve_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

// changing is a run of a model that may win and changes these lines.
func changing(n int, model string, lines ...string) solve.Run {
	r := passing(n, 1, 1)
	r.Verdict.Fixed, r.Experiment.Model, r.Candidate.Lines = 0, model, lines
	return r
}

// TestAgreement: lines count that another model changes, too, each once, and only of runs that can win.
func TestAgreement(t *testing.T) {
	t.Parallel()
	alone, first, second := changing(1, "small", "+a"), changing(2, "large", "+b", "+c", "+d"), changing(3, "other", "+c", "+d", "+e")
	d := solve.Reduce([]solve.Run{alone, first, second}, rule())
	if c := d.Comparisons[1]; d.Champion != 2 || c.Criterion != "agreement" || c.Left != "2 lines in common" || c.Right != "0 lines in common" {
		t.Errorf("%+v", d)
	}
	repeated := changing(4, "small", "+a")
	if d := solve.Reduce([]solve.Run{alone, repeated, first, second}, rule()); d.Champion != 2 {
		t.Errorf("a model agrees with itself: %+v", d)
	}
	shown := []solve.Run{alone, first, second}
	for i := range shown {
		shown[i].Verdict.Fixed = 1
	}
	if d := solve.Reduce(shown, rule()); d.Champion != 1 {
		t.Errorf("a test shows the fix, and lines in common decide: %+v", d)
	}
	for i := range shown {
		shown[i].Verdict.Fixed = 0
	}
	failed := changing(5, "large", "+a")
	failed.State, failed.Verdict.Outcome = solve.RunFailed, solve.Failed
	if d := solve.Reduce([]solve.Run{alone, failed, changing(6, "other")}, rule()); d.Comparisons[0].Criterion == "agreement" {
		t.Errorf("a failed run agrees: %+v", d)
	}
	if d := solve.Reduce([]solve.Run{changing(1, "small", "+x"), changing(2, "small", "+y"), changing(3, "small", "+y")}, rule()); d.Champion != 2 {
		t.Errorf("runs of the only model do not agree: %+v", d)
	}
}

// TestGroups: who passes the same new tests is one group; where no test tells, who makes much the same change.
func TestGroups(t *testing.T) {
	t.Parallel()
	failed := changing(6, "other", "+a", "+b")
	failed.State, failed.Verdict.Outcome = solve.RunFailed, solve.Failed
	twin := changing(5, "small")
	runs := []solve.Run{
		changing(1, "small", "+x", "+y"), changing(2, "small", "+a", "+b"), changing(3, "large", "+a", "+c"), changing(4, "small", "+b", "+d"), twin, failed,
	}
	for i := range runs {
		runs[i].Candidate.SHA256 = string(rune('a' + i))
	}
	runs[4].Candidate.SHA256 = runs[0].Candidate.SHA256
	want := []solve.Group{{Runs: []int{2, 3, 4}, Models: 2, Tests: -1}, {Runs: []int{1, 5}, Models: 1, Tests: -1}}
	if diff := cmp.Diff(want, solve.GroupsOf(runs, nil)); diff != "" {
		t.Errorf("by the change: %s", diff)
	}
	for range 20 {
		rand.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		if diff := cmp.Diff(want, solve.GroupsOf(runs, nil)); diff != "" {
			t.Fatalf("in another order: %s", diff)
		}
	}
	cross := []solve.CrossResult{{Author: 2, Run: 1, Passed: []string{"TestNew"}}, {Author: 2, Run: 3, Failed: []string{"TestNew"}}}
	want = []solve.Group{{Runs: []int{1, 2, 5}, Models: 1, Tests: 1}, {Runs: []int{3, 4}, Models: 2, Tests: 0}}
	if diff := cmp.Diff(want, solve.GroupsOf(runs, cross)); diff != "" {
		t.Errorf("by the tests: %s", diff)
	}
	if got := solve.GroupsOf([]solve.Run{failed}, nil); got != nil {
		t.Errorf("who cannot win: %v", got)
	}
}

// TestTypicalSize: the middle one wins, of two the larger; tests do not count.
func TestTypicalSize(t *testing.T) {
	t.Parallel()
	sized := func(n, source, tests int) solve.Run {
		r := changing(n, "small")
		r.Candidate.Files = []solve.FileChange{{Path: "a.go", Added: source - 1, Deleted: 1}, {Path: "a_test.go", Test: true, Added: tests}}
		return r
	}
	for _, c := range []struct {
		runs     []solve.Run
		champion int
	}{
		{[]solve.Run{sized(1, 1, 0), sized(2, 5, 0)}, 2},
		{[]solve.Run{sized(1, 1, 0), sized(2, 5, 0), sized(3, 90, 0)}, 2},
		{[]solve.Run{sized(1, 1, 0), sized(2, 90, 0), sized(3, 5, 90)}, 3},
		{[]solve.Run{sized(1, 1, 0), sized(2, 4, 0), sized(3, 5, 0), sized(4, 90, 0)}, 3},
	} {
		d := solve.Reduce(c.runs, rule())
		if against, _ := d.Against(1); d.Champion != c.champion || against.Criterion != "typical" {
			t.Errorf("%+v", d)
		}
		for i := range c.runs {
			c.runs[i].Verdict.Fixed = 1
		}
		if d := solve.Reduce(c.runs, rule()); d.Champion != 1 {
			t.Errorf("a test shows the fix, and the smallest does not win: %+v", d)
		}
	}
}

// TestNearLatenciesDecideNothing, also where they lie on two sides of a full second, or in a row.
func TestNearLatenciesDecideNothing(t *testing.T) {
	t.Parallel()
	after := func(n int, seconds float64) solve.Run {
		r := changing(n, "small")
		r.AgentTime = time.Duration(seconds * float64(time.Second))
		return r
	}
	for _, c := range []struct {
		seconds   []float64 // of runs 1, 2, ...
		champion  int
		criterion string
	}{
		{[]float64{2.1, 1.9}, 1, "run"},
		{[]float64{3, 2, 1}, 3, "latency"},
		{[]float64{2.6, 1.8, 1}, 1, "run"},
	} {
		var runs []solve.Run
		for i, s := range c.seconds {
			runs = append(runs, after(i+1, s))
		}
		d := solve.Reduce(runs, rule())
		if against, _ := d.Against(len(runs) + 1 - c.champion); d.Champion != c.champion || len(runs) == 2 && against.Criterion != c.criterion {
			t.Errorf("%v: %+v", c.seconds, d)
		}
	}
}

func TestGrades(t *testing.T) {
	t.Parallel()
	proven := changing(1, "small", "+a")
	proven.Verdict.Fixed = 1
	own := changing(2, "small", "+b", "+c", "+d")
	own.Verdict.Proofs = 3
	quarter, less := changing(3, "large", "+b", "+x"), changing(4, "other", "+b", "+1", "+2", "+3")
	same := changing(5, "small", "+b", "+c", "+d")
	moved, again := changing(8, "small"), changing(9, "large") // a rename has no lines
	again.Candidate.SHA256 = moved.Candidate.SHA256
	failed := changing(6, "large", "+a")
	failed.State, failed.Verdict.Outcome = solve.RunFailed, solve.Failed
	for _, c := range []struct {
		n    int
		runs []solve.Run
		want solve.Grade
	}{
		{1, []solve.Run{proven}, solve.Proven},
		{2, []solve.Run{proven, own}, solve.Unproven},
		{2, []solve.Run{own, quarter}, solve.Supported},
		{3, []solve.Run{own, quarter}, solve.Supported},
		{2, []solve.Run{own, less}, solve.Unproven},
		{2, []solve.Run{own, same}, solve.Unproven},
		{2, []solve.Run{changing(2, "small"), changing(3, "large")}, solve.Unproven},
		{8, []solve.Run{moved, again}, solve.Supported},
		{6, []solve.Run{failed}, ""},
		{7, []solve.Run{proven}, ""},
	} {
		if got := solve.GradeOf(c.runs, nil, c.n); got != c.want {
			t.Errorf("run %d of %d: %q, want %q", c.n, len(c.runs), got, c.want)
		}
	}
}

// TestEnoughIsShown: that tests pass ends no solve early, a grade does.
func TestEnoughIsShown(t *testing.T) {
	t.Parallel()
	s := solve.Solve{State: solve.StateRunning, Plan: solve.Plan{Stop: solve.StopFirstGreen}}
	one, two := changing(1, "small", "+a"), changing(2, "large", "+a")
	waiting := solve.Run{N: 9, State: solve.RunQueued, Experiment: one.Experiment}
	for _, c := range []struct {
		runs []solve.Run
		want string
	}{
		{[]solve.Run{one, waiting}, ""},
		{[]solve.Run{two, one, waiting}, "not needed: run 1 is supported"},
	} {
		if _, enough := s.CurrentWave(c.runs); enough != c.want {
			t.Errorf("%d runs: %q", len(c.runs), enough)
		}
		if why := s.Redundant(waiting, 0, c.runs, solve.Rule{}); why != c.want {
			t.Errorf("%d runs: stopped: %q", len(c.runs), why)
		}
	}
}

// TestCriteriaNamedByOldRecords can be recomputed: their words stay known.
func TestCriteriaNamedByOldRecords(t *testing.T) {
	t.Parallel()
	words := []string{
		"tests pass, none broken, and the patch may be published", "does not weaken existing tests", "fixes more of the tests that fail on the base",
		"fewest files changed", "smallest diff, lines added and deleted", "lowest latency of the agent's work",
		"lower temperature, the more stable model", "configured order of models", "lower run number",
	}
	fast, slow := changing(2, "small"), changing(1, "small")
	slow.AgentTime += time.Millisecond
	rec := solve.Record{Solve: solve.Solve{Decision: &solve.Decision{Rule: words}}}
	d := solve.Reduce([]solve.Run{slow, fast}, rec.Rule())
	if d.Champion != 2 || !slices.Equal(d.Rule, words) {
		t.Errorf("%+v", d)
	}
}

// drawCross gives the runs lines, proofs and tests on each other, also where a run has no candidate.
func drawCross(t *rapid.T, runs []solve.Run) []solve.CrossResult {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"TestA", "TestB", "TestC"}), 0, 3, rapid.ID)
	var out []solve.CrossResult
	for i := range runs {
		r := &runs[i]
		if r.Candidate != nil {
			r.Candidate.SHA256 = rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "patch")
			r.Candidate.Lines = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3", "4"}), 0, 4, rapid.ID).Draw(t, "lines")
			r.Verdict.ProofTests = names.Draw(t, "proofs")
			r.Verdict.Proofs = len(r.Verdict.ProofTests)
			r.Verdict.NoCode = rapid.IntRange(0, 5).Draw(t, "no code") == 0
		}
		for author := range len(runs) {
			if rapid.Bool().Draw(t, "tested") && author != i {
				out = append(out, solve.CrossResult{
					Author: author + 1, Run: i + 1, Passed: names.Draw(t, "passed"), Failed: names.Draw(t, "failed"),
				})
			}
		}
	}
	return out
}

// Whatever the candidates' tests say of whichever runs, the choice, its grades and their reasons
// are there, and none depends on the order in which the runs come.
func TestEvidenceDependsOnNoOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		rule := rule()
		rule.Cross = drawCross(t, runs)
		d := solve.Reduce(runs, rule)
		if d.Champion != 0 && !solve.Eligible(runs[d.Champion-1]) {
			t.Fatalf("champion %d cannot win", d.Champion)
		}
		shuffled := rapid.Permutation(runs).Draw(t, "arrival")
		if diff := cmp.Diff(d, solve.Reduce(shuffled, rule)); diff != "" {
			t.Fatal(diff)
		}
		for _, r := range runs {
			grade := solve.GradeOf(runs, d.Cross, r.N)
			if reason := solve.GradeReason(runs, d, r.N, "main"); (grade == "") == solve.Eligible(r) || (reason == "") == solve.Eligible(r) {
				t.Fatalf("run %d: grade %q because %q", r.N, grade, reason)
			}
			if again := solve.GradeOf(shuffled, d.Cross, r.N); again != grade {
				t.Fatalf("run %d: %q, then %q", r.N, grade, again)
			}
		}
	})
}
