package solve_test

import (
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestCross: the candidates' new tests decide by the models that agree on them.
func TestCross(t *testing.T) {
	t.Parallel()
	author, second, wrong := changing(1, "small"), changing(2, "large"), changing(3, "other")
	wrongToo, wrongAgain := changing(4, "more"), changing(5, "most")
	runs := []solve.Run{wrongAgain, wrongToo, wrong, second, author}
	for i := range runs {
		runs[i].Verdict.Proofs = 0
	}
	of := func(run int, passed ...string) solve.CrossResult {
		c := solve.CrossResult{Author: 1, Run: run, Passed: passed}
		if len(passed) == 0 {
			c.Failed = []string{"TestNew"}
		}
		return c
	}
	decide := func(cross ...solve.CrossResult) solve.Decision {
		return solve.Reduce(runs, solve.Rule{Order: []string{"cross"}, Cross: cross})
	}

	// Two models that pass the test outweigh three that fail it.
	d := decide(of(2, "TestNew"), of(3), of(4), of(5))
	if c, _ := d.Against(3); !slices.Equal(d.Ranking, []int{1, 2, 3, 4, 5}) || c.Criterion != "cross" || c.Left != "2 models, 1 test" || c.Right != "3 models, 0 tests" {
		t.Errorf("%+v", d)
	}
	if got := solve.GradeReason(runs, d, 1, "main"); got != "its own new tests fail without the change, and a candidate of another model passes them" {
		t.Error(got)
	}
	for n, want := range map[int]solve.Grade{1: solve.Supported, 2: solve.Proven, 3: solve.Unproven} {
		if got := solve.GradeOf(runs, d.Cross, n); got != want {
			t.Errorf("run %d: %s, want %s", n, got, want)
		}
	}
	if got := solve.GradeReason(runs, d, 2, "main"); got != "a test of another candidate fails without this change and passes with it" {
		t.Error(got)
	}

	// A test that nobody else passes says nothing, and one that does not run speaks against nobody.
	if d := decide(of(2), of(3), of(4), of(5)); d.Comparisons[0].Criterion != "run" {
		t.Errorf("%+v", d.Comparisons[0])
	}
	if d := decide(); d.Comparisons[0].Criterion != "run" {
		t.Errorf("%+v", d.Comparisons[0])
	}

	// Two candidates' tests of one name are two tests.
	d = decide(of(2, "TestNew"), solve.CrossResult{Author: 3, Run: 4, Passed: []string{"TestNew"}}, solve.CrossResult{Author: 3, Run: 1, Passed: []string{"TestNew"}})
	if c, _ := d.Against(2); d.Champion != 1 || c.Left != "1 model, 2 tests" {
		t.Errorf("%+v", d)
	}

	// The stored decision holds what is needed to decide again.
	rec := solve.Record{Solve: solve.Solve{Decision: &d}}
	if again := solve.Reduce(runs, rec.Rule()); !slices.Equal(again.Ranking, d.Ranking) {
		t.Errorf("%v, then %v", d.Ranking, again.Ranking)
	}
}

func TestCrossPairs(t *testing.T) {
	t.Parallel()
	run := func(n, proofs int, patch string) solve.Run {
		r := changing(n, "small")
		r.Verdict.Proofs, r.Verdict.ProofTests, r.Candidate.SHA256 = proofs, slices.Repeat([]string{"TestNew"}, proofs), patch
		return r
	}
	failed := run(5, 1, "e")
	failed.State, failed.Verdict.Outcome = solve.RunFailed, solve.Failed
	empty := solve.Run{N: 6, State: solve.RunEmpty}
	runs := []solve.Run{run(4, 0, "a"), failed, run(3, 2, "c"), run(2, 0, "b"), run(1, 1, "a"), empty}
	want := []solve.CrossPair{{1, 2}, {3, 1}, {1, 3}, {3, 2}} // each author has a turn before any has two
	if got := solve.CrossPairs(runs, 9); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := solve.CrossPairs(runs, 3); !slices.Equal(got, want[:3]) {
		t.Errorf("%v", got)
	}
	if got := solve.CrossPairs([]solve.Run{run(1, 1, "a"), run(2, 1, "a")}, 9); got != nil {
		t.Errorf("one patch: %v", got)
	}
	nameless := run(1, 1, "a")
	nameless.Verdict.ProofTests = nil
	if got := solve.CrossPairs([]solve.Run{nameless, run(2, 0, "b")}, 9); got != nil {
		t.Errorf("a proof by the exit code: %v", got)
	}
	if got := solve.CrossPairs(runs, 0); len(got) != 0 {
		t.Errorf("turned off: %v", got)
	}

	// What is said of a patch holds for all runs that have it, and nobody proves its own twin.
	cross := []solve.CrossResult{{Author: 1, Run: 2, Passed: []string{"TestNew"}}, {Author: 3, Run: 1, Failed: []string{"TestOther"}}}
	for n, want := range map[int]solve.Grade{1: solve.Unproven, 4: solve.Unproven, 2: solve.Proven, 3: solve.Unproven} {
		if got := solve.GradeOf(runs, cross, n); got != want {
			t.Errorf("run %d: %s, want %s", n, got, want)
		}
	}
	d := solve.Reduce(runs, solve.Rule{Order: []string{"cross"}, Cross: cross})
	if !slices.Equal(d.Ranking, []int{1, 2, 4, 3, 5, 6}) {
		t.Errorf("%v", d.Ranking)
	}
}
