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
	if got := d.ForeignTests(); got != nil {
		t.Errorf("a test of its own is foreign: %v", got)
	}
	for n, want := range map[int]solve.Grade{1: solve.Unproven, 2: solve.Proven, 3: solve.Unproven} {
		if got := solve.GradeOf(runs, d.Cross, n); got != want {
			t.Errorf("run %d: %s, want %s", n, got, want)
		}
	}
	d.Champion = 2
	if got := d.ForeignTests(); !slices.Equal(got, []string{"TestNew"}) {
		t.Errorf("%v", got)
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
