package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// withReproducer is a decided solve with a reproducer as run 6, whose test these candidates pass.
func withReproducer(change func(r *solve.Run), passing ...int) report.View {
	r := solve.Run{
		N: 6, State: solve.RunPassed, Attempt: 1,
		Experiment: solve.Experiment{Agent: "mini", Model: "tester", Repeat: 1, Purpose: solve.PurposeReproduce},
		Candidate:  &solve.Candidate{Files: []solve.FileChange{{Path: "price_test.go", Op: "add", Added: 9, Test: true}}},
		Verdict:    &solve.Verdict{Outcome: solve.Passed, Proofs: 1, ProofTests: []string{"shop.TestPrice"}},
	}
	if change != nil {
		change(&r)
	}
	var rule solve.Rule
	for _, n := range passing {
		rule.Cross = append(rule.Cross, solve.CrossResult{Author: 6, Run: n, Passed: r.Verdict.ProofTests})
	}
	v := unproven(solve.UnprovenDraft, func(v *report.View) { v.Runs[3].Candidate = v.Runs[1].Candidate })
	v.Runs = append(v.Runs, r)
	v.Solve.Plan.Settings.PublishTests = true
	rule.Models = v.Solve.Plan.Order
	d := solve.Decide(v.Solve, v.Runs, rule)
	v.Solve.Decision = &d
	return v
}

// TestReproductionIsTold: what the reproducer came to, and that it is no row among the candidates.
func TestReproductionIsTold(t *testing.T) {
	t.Parallel()
	all := texts(withReproducer(nil, 2)) // the patch of runs 2 and 4, by two models
	for _, name := range []string{"pull", "final", "terminal"} {
		golden(t, "testdata/text/reproduced-"+name+".md", all[name])
	}
	if text := report.TestsMessage(withReproducer(nil, 2)); text != "test: total is wrong when a cart holds *two* coupons\n\nFor #12.\n\n"+
		"Written from the issue alone, by run 6: model tester.\nIt fails without the commit after this one.\n" {
		t.Error(text)
	}
	if got := report.RunCheckOf(withReproducer(nil, 2), 6).Name; got != "yudai / 6: tester reproducer" {
		t.Error(got)
	}
}

// TestFlagsOfReproductionTestsAreTold: they come into the pull request with the champion.
func TestFlagsOfReproductionTestsAreTold(t *testing.T) {
	t.Parallel()
	v := withReproducer(func(r *solve.Run) { r.Candidate.Flags = []string{"symlinks: tests/a"} }, 2)
	if text := report.PullBody(v); !strings.Contains(text, "### Tests written from the issue\n\n**Look at this before you merge:** symlinks: tests/a.\n\n- `shop.TestPrice`") {
		t.Error(text)
	}
}

func TestReproducerWithoutAResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(r *solve.Run)
		passing []int
		want    string // of the terminal; "" for nothing
	}{
		"one model":   {nil, []int{1}, "Reproduction: run 6 (tester) wrote 1 test from the issue alone, red on main. Passed by 1 candidate, of 1 model."},
		"nobody":      {nil, []int{0}, "Passed by no candidate."},
		"did not run": {nil, nil, "red on main. They ran on no candidate."},
		"bad":         {func(r *solve.Run) { r.State, r.Verdict.Reason = solve.RunFailed, "it changes 1 other file" }, nil, "wrote no test that counts: it changes 1 other file."},
		"refused":     {func(r *solve.Run) { r.State, r.Candidate.Refused = solve.RunFailed, "too large" }, nil, "wrote no test that counts: too large."},
		"lost":        {func(r *solve.Run) { r.State, r.Verdict, r.Reason = solve.RunLost, nil, "gone" }, nil, "wrote no test that counts: gone."},
		"no words":    {func(r *solve.Run) { r.State, r.Verdict = solve.RunEmpty, nil }, nil, "wrote no test that counts: no change."},
		"at work":     {func(r *solve.Run) { r.State, r.Verdict = solve.RunWorking, nil }, nil, "writes tests from the issue alone that fail on main."},
		"not needed":  {func(r *solve.Run) { r.State, r.NotNeeded = solve.RunCancelled, true }, nil, ""},
		"its markup":  {func(r *solve.Run) { r.State, r.Verdict.Reason = solve.RunFailed, "a\x1b[31m\nb" }, nil, "wrote no test that counts: a"},
		"its own one": {func(r *solve.Run) { r.Experiment.Model = "small" }, []int{1}, "Passed by 1 candidate, of 1 model."},
	} {
		v := withReproducer(c.change, c.passing...)
		text := strings.Join(strings.Fields(report.Console(v, 1000)), " ")
		if !strings.Contains(text, c.want) || strings.Contains(text, "\x1b") || strings.Contains(text, "Reproduction:") != (c.want != "") {
			t.Errorf("%s: no %q in\n%s", name, c.want, text)
		}
		if pull := report.PullBody(v); strings.Contains(pull, "Tests written from the issue") {
			t.Errorf("%s: offered\n%s", name, pull)
		}
	}
}
