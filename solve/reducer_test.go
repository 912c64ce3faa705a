package solve_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

// passing is a run that may win; the parameters are what the criteria look at.
func passing(n, files, lines int) solve.Run {
	return solve.Run{
		N: n, Solve: "s1", State: solve.RunPassed, AgentTime: time.Minute,
		Experiment: solve.Experiment{Model: "small", Temperature: new(0.2), Record: 50},
		Verdict:    &solve.Verdict{Outcome: solve.Passed, Fixed: 1, Kept: 5, Proofs: 2},
		Candidate:  &solve.Candidate{SHA256: strings.Repeat("0", n), Files: make([]solve.FileChange, files), Added: lines},
	}
}

func rule() solve.Rule { return solve.Rule{Models: []string{"small", "large"}} }

// Each criterion decides when all before it are equal, and the decision names it.
func TestEachCriterionDecides(t *testing.T) {
	t.Parallel()
	for name, worsen := range map[string]func(r *solve.Run){
		"passed":      func(r *solve.Run) { r.State, r.Verdict.Outcome, r.Verdict.Broken = solve.RunFailed, solve.Failed, 2 },
		"keeps_tests": func(r *solve.Run) { r.Verdict.Weakens = []string{"a_test.go"} },
		"code":        func(r *solve.Run) { r.Verdict.NoCode = true },
		"fixes":       func(r *solve.Run) { r.Verdict.Fixed = 0 },
		"steady":      func(r *solve.Run) { r.Verdict.Unsteady = 1 },
		"proof":       func(r *solve.Run) { r.Verdict.Proofs, r.Verdict.Unready = 0, 1 },
		"record":      func(r *solve.Run) { r.Experiment.Record = 45 },
		"files":       func(r *solve.Run) { r.Candidate.Files = make([]solve.FileChange, 3) },
		"size":        func(r *solve.Run) { r.Candidate.Deleted = 1 },
		"latency":     func(r *solve.Run) { r.AgentTime = 2 * time.Minute },
		"temperature": func(r *solve.Run) { r.Experiment.Temperature = new(0.3) },
		"model":       func(r *solve.Run) { r.Experiment.Model = "large" },
		"run":         func(*solve.Run) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The better run has the higher number, so that only the criterion itself can make it win.
			better, worse := passing(2, 2, 10), passing(1, 2, 10)
			if name == "run" {
				better, worse = worse, better
			}
			worsen(&worse)
			d := solve.Reduce([]solve.Run{worse, better}, rule())
			if d.Champion != better.N || len(d.Comparisons) != 1 || d.Comparisons[0].Criterion != name {
				t.Fatalf("%+v", d)
			}
			c := d.Comparisons[0]
			if c.Winner != better.N || c.Loser != worse.N || c.Left == c.Right || !strings.Contains(c.Text, c.Left+" against "+c.Right) {
				t.Errorf("%+v", c)
			}
		})
	}
}

// A criterion that comes earlier outweighs all that come later together.
func TestOrderOfCriteria(t *testing.T) {
	t.Parallel()
	names := solve.CriterionNames()
	for _, order := range [][]string{solve.OrderOf(""), solve.OrderOf(solve.RuleSmallest)} {
		for _, name := range order {
			if !slices.Contains(names, name) || order[0] != "passed" || order[len(order)-1] != "run" {
				t.Errorf("%s in %v", name, order)
			}
		}
	}
	better, worse := passing(9, 5, 900), passing(1, 1, 1)
	better.AgentTime, better.Experiment = time.Hour, solve.Experiment{Model: "large", Temperature: new(1.0)}
	worse.AgentTime, worse.Experiment.Temperature = time.Second, nil
	better.Verdict.Fixed = 2
	if d := solve.Reduce([]solve.Run{worse, better}, rule()); d.Champion != 9 || d.Comparisons[0].Criterion != "fixes" {
		t.Errorf("fixing more must outweigh size: %+v", d.Comparisons)
	}
	better.Verdict.Fixed = 0
	worse.Verdict.Weakens = []string{"a_test.go"}
	if d := solve.Reduce([]solve.Run{worse, better}, rule()); d.Champion != 9 || d.Comparisons[0].Criterion != "keeps_tests" {
		t.Errorf("keeping tests must outweigh all that follows: %+v", d.Comparisons)
	}
}

func TestNoTemperatureIsTheMostStable(t *testing.T) {
	t.Parallel()
	zero, none := passing(1, 1, 1), passing(2, 1, 1)
	zero.Experiment.Temperature, none.Experiment.Temperature = new(0.0), nil
	if d := solve.Reduce([]solve.Run{zero, none}, rule()); d.Champion != 2 || d.Comparisons[0].Criterion != "temperature" {
		t.Errorf("%+v", d)
	}
}

func TestModelsOutsideTheOrderShareTheLastPlace(t *testing.T) {
	t.Parallel()
	a, b, c := passing(1, 1, 1), passing(2, 1, 1), passing(3, 1, 1)
	a.Experiment.Model, b.Experiment.Model, c.Experiment.Model = "zeta", "alpha", "large"
	if d := solve.Reduce([]solve.Run{b, a, c}, rule()); !slices.Equal(d.Ranking, []int{3, 1, 2}) {
		t.Errorf("%v", d.Ranking)
	}
}

// Runs that cannot win rank by state and number, whatever their patches.
func TestLosersRankByStateThenNumber(t *testing.T) {
	t.Parallel()
	states := []solve.RunState{
		solve.RunError, solve.RunLost, solve.RunCancelled, solve.RunEmpty, solve.RunTimedOut, solve.RunNoVerdict, solve.RunFailed, solve.RunFailed,
	}
	var runs []solve.Run
	for i, s := range states {
		runs = append(runs, solve.Run{N: i + 1, State: s, Candidate: &solve.Candidate{Added: i}})
	}
	blocked := passing(9, 1, 1)
	blocked.Candidate.Refused = "it touches .github/workflows"
	runs = append(runs, blocked)
	d := solve.Reduce(runs, rule())
	if d.Champion != 0 || !slices.Equal(d.Ranking, []int{9, 7, 8, 6, 5, 4, 3, 2, 1}) {
		t.Fatalf("%+v", d)
	}
	if c := d.Comparisons[0]; c.Criterion != "passed" || !strings.Contains(c.Left, "refused: it touches") {
		t.Errorf("%+v", c)
	}
	if c := d.Comparisons[1]; c.Criterion != "run" {
		t.Errorf("two failed runs are told apart by %s", c.Criterion)
	}
}

func TestNoRuns(t *testing.T) {
	t.Parallel()
	if d := solve.Reduce(nil, rule()); d.Champion != 0 || d.Ranking != nil || d.RunnerUp() != 0 {
		t.Errorf("%+v", d)
	}
	if d := solve.Reduce([]solve.Run{passing(4, 1, 1)}, rule()); d.Champion != 4 || d.Comparisons != nil || d.RunnerUp() != 0 {
		t.Errorf("%+v", d)
	}
}

// The decision holds all neighbours, and the champion against everybody.
func TestComparisonsCoverTheRanking(t *testing.T) {
	t.Parallel()
	runs := []solve.Run{passing(1, 4, 1), passing(2, 3, 1), passing(3, 2, 1), passing(4, 1, 1)}
	d := solve.Reduce(runs, rule())
	var got [][2]int
	for _, c := range d.Comparisons {
		got = append(got, [2]int{c.Winner, c.Loser})
	}
	want := [][2]int{{4, 3}, {3, 2}, {2, 1}, {4, 2}, {4, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, n := range []int{1, 2, 3} {
		if c, ok := d.Against(n); !ok || c.Criterion != "files" {
			t.Errorf("against %d: %+v", n, c)
		}
	}
	if d.RunnerUp() != 3 {
		t.Errorf("runner-up %d", d.RunnerUp())
	}
	if text := d.Comparisons[0].Text; text != "Run 4 ranks before run 3: fewest files changed (1 file against 2 files)." {
		t.Error(text)
	}
}

func TestRuleFromConfig(t *testing.T) {
	t.Parallel()
	if err := (solve.Rule{Order: []string{"size", "latency", "passed", "run"}}).Validate(); err != nil {
		t.Error(err)
	}
	err := (solve.Rule{Order: []string{"latenci", "beauty"}}).Validate()
	for _, want := range []string{`unknown criterion "latenci": did you mean "latency"?`, `unknown criterion "beauty": valid are passed,`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in %v", want, err)
		}
	}
	small, fast := passing(1, 1, 1), passing(2, 9, 900)
	fast.AgentTime = time.Second
	runs := []solve.Run{small, fast}
	if d := solve.Reduce(runs, solve.Rule{Order: []string{"latency", "latency"}}); d.Champion != 2 ||
		!slices.Equal(d.Rule, []string{
			"tests pass, none broken, and the patch may be published", "lowest latency of the agent's work, by a second or more", "lower run number",
		}) {
		t.Errorf("%+v", d)
	}
	// Nothing that a configuration says lets a failed run win.
	fast.State, fast.Verdict.Outcome = solve.RunFailed, solve.Failed
	if d := solve.Reduce([]solve.Run{small, fast}, solve.Rule{Order: []string{"latency"}}); d.Champion != 1 {
		t.Errorf("%+v", d)
	}
}

func TestAgreementIsTextOnly(t *testing.T) {
	t.Parallel()
	a, b, c, d := passing(1, 1, 1), passing(2, 1, 2), passing(3, 1, 1), passing(4, 1, 1)
	c.Candidate.SHA256, d.Candidate.SHA256 = b.Candidate.SHA256, b.Candidate.SHA256
	runs := []solve.Run{d, a, b, c, {N: 5}}
	if got := solve.Agreement(runs, 2); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("%v", got)
	}
	if got := solve.Agreement(runs, 1); got != nil {
		t.Errorf("%v", got)
	}
	if got := solve.Agreement([]solve.Run{{N: 1, Candidate: &solve.Candidate{}}, {N: 2, Candidate: &solve.Candidate{}}}, 1); got != nil {
		t.Errorf("no patch is no agreement: %v", got)
	}
	if solve.Reduce(runs, rule()).Champion != 1 {
		t.Error("agreement changed the champion")
	}
}

// drawRuns makes runs whose values are often equal, so that every criterion gets its turn.
func drawRuns(t *rapid.T) []solve.Run {
	n := rapid.IntRange(0, 7).Draw(t, "runs")
	var runs []solve.Run
	for i := range n {
		runs = append(runs, drawRun(t, i+1))
	}
	return runs
}

func drawRun(t *rapid.T, n int) solve.Run {
	small := rapid.IntRange(0, 2)
	r := passing(n, small.Draw(t, "files"), small.Draw(t, "added"))
	r.Candidate.Deleted = small.Draw(t, "deleted")
	r.Verdict.Fixed = small.Draw(t, "fixed")
	r.AgentTime = time.Duration(small.Draw(t, "latency")) * time.Second
	r.Experiment.Model = rapid.SampledFrom([]string{"small", "large", "other"}).Draw(t, "model")
	r.Experiment.Temperature = rapid.SampledFrom([]*float64{nil, new(0.0), new(0.2), new(1.5)}).Draw(t, "temp")
	if rapid.IntRange(0, 3).Draw(t, "weakens") == 0 {
		r.Verdict.Weakens = []string{"x_test.go"}
	}
	switch rapid.IntRange(0, 9).Draw(t, "end") {
	case 0:
		r.Candidate.Refused = "a symlink"
	case 1:
		r.State, r.Verdict.Outcome = solve.RunFailed, solve.Failed
	case 2:
		r.State, r.Verdict.Outcome = solve.RunNoVerdict, solve.NoVerdict
	case 3:
		r.State, r.Verdict, r.Candidate = rapid.SampledFrom([]solve.RunState{solve.RunEmpty, solve.RunError, solve.RunLost}).Draw(t, "state"), nil, nil
	}
	return r
}

func TestOrderOfArrivalNeverChangesAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		want := solve.Reduce(runs, rule())
		if diff := cmp.Diff(want, solve.Reduce(rapid.Permutation(runs).Draw(t, "arrival"), rule())); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Improving the champion in one criterion, whichever, leaves it champion.
func TestABetterCandidateNeverLoses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		d := solve.Reduce(runs, rule())
		if d.Champion == 0 {
			t.Skip("no champion")
		}
		r := &runs[d.Champion-1]
		c, v := *r.Candidate, *r.Verdict
		r.Candidate, r.Verdict = &c, &v
		switch rapid.IntRange(0, 6).Draw(t, "criterion") {
		case 0:
			v.Weakens = nil
		case 1:
			v.Fixed++
		case 2:
			c.Files = c.Files[:max(0, len(c.Files)-1)]
		case 3:
			c.Added, c.Deleted = max(0, c.Added-1), max(0, c.Deleted-1)
		case 4:
			r.AgentTime /= 2
		case 5:
			r.Experiment.Temperature = nil
		case 6:
			r.Experiment.Model = "small"
		}
		if again := solve.Reduce(runs, rule()); again.Champion != d.Champion {
			t.Fatalf("champion %d became %d", d.Champion, again.Champion)
		}
	})
}

// A run that is no worse anywhere and better somewhere ranks before the other.
func TestDominanceDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		base := passing(50, 2, 5)
		base.Verdict.Weakens = []string{"x_test.go"}
		base.Experiment = solve.Experiment{Model: "large", Temperature: new(0.7)}
		better := base
		c, v := *base.Candidate, *base.Verdict
		better.Candidate, better.Verdict, better.N = &c, &v, 51
		improved := false
		for _, improve := range []func(){
			func() { v.Weakens = nil }, func() { v.Fixed++ }, func() { c.Files = c.Files[:1] }, func() { c.Added-- },
			func() { better.AgentTime /= 2 }, func() { better.Experiment.Temperature = nil }, func() { better.Experiment.Model = "small" },
		} {
			if rapid.Bool().Draw(t, "improve") {
				improve()
				improved = true
			}
		}
		if !improved {
			t.Skip("the same")
		}
		d := solve.Reduce(append(runs, base, better), rule())
		if slices.Index(d.Ranking, 51) > slices.Index(d.Ranking, 50) {
			t.Fatalf("%v", d.Ranking)
		}
	})
}

func TestAddingAWorseCandidateKeepsTheChampion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		before := solve.Reduce(runs, rule())
		extra := drawRun(t, 99)
		after := solve.Reduce(append(slices.Clone(runs), extra), rule())
		if after.Champion != before.Champion && after.Champion != 99 {
			t.Fatalf("a third run moved the title from %d to %d", before.Champion, after.Champion)
		}
		if !slices.Equal(before.Ranking, slices.DeleteFunc(slices.Clone(after.Ranking), func(n int) bool { return n == 99 })) {
			t.Fatal("a further run changed the order of the others")
		}
	})
}

// The pairwise order is total: antisymmetric, transitive, and the ranking is it.
func TestOrderIsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		before := func(a, b solve.Run) bool {
			return solve.Reduce([]solve.Run{a, b}, rule()).Ranking[0] == a.N
		}
		ranking := solve.Reduce(runs, rule()).Ranking
		for _, a := range runs {
			for _, b := range runs {
				if a.N == b.N {
					continue
				}
				if before(a, b) == before(b, a) {
					t.Fatalf("%d and %d are not ordered", a.N, b.N)
				}
				if before(a, b) != (slices.Index(ranking, a.N) < slices.Index(ranking, b.N)) {
					t.Fatalf("%d and %d stand otherwise in %v", a.N, b.N, ranking)
				}
			}
		}
	})
}

func TestOnlyAPublishablePassWins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := drawRuns(t)
		rule := solve.Rule{Order: rapid.SliceOf(rapid.SampledFrom(solve.CriterionNames())).Draw(t, "order")}
		d := solve.Reduce(runs, rule)
		able := func(r solve.Run) bool {
			return r.State == solve.RunPassed && r.Verdict.Outcome == solve.Passed && r.Candidate.Refused == ""
		}
		if (d.Champion != 0) != slices.ContainsFunc(runs, able) {
			t.Fatalf("champion %d", d.Champion)
		}
		if d.Champion != 0 && !able(runs[d.Champion-1]) {
			t.Fatalf("%+v won", runs[d.Champion-1])
		}
	})
}
