package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// picked is a solve whose champion a person chose: run 2 over run 1, both carried over.
func picked() report.View {
	run := func(n, lines int) solve.Run {
		return solve.Run{
			Solve: "s2", N: n, State: solve.RunPassed, From: &solve.Origin{Solve: "s1", N: n},
			Experiment: solve.Experiment{Model: "m", Agent: "mini", Strategy: "plain"},
			Progress:   solve.Progress{Usage: solve.Usage{Cost: 1_500_000}},
			Candidate:  &solve.Candidate{SHA256: strings.Repeat("a", lines), Added: lines, Files: []solve.FileChange{{Path: "a.go", Op: "modify"}}},
			Verdict:    &solve.Verdict{Outcome: solve.Passed, Kept: 3},
		}
	}
	v := report.View{
		Solve: solve.Solve{
			ID: "s2", State: solve.StateSolved, Trigger: solve.Trigger{Kind: solve.TriggerButton, Actor: "ann"},
			Follows: &solve.Follow{Kind: solve.FollowPick, Of: "s1", N: 2, Pull: &solve.Pull{Number: 7}},
			Pull:    &solve.Pull{Number: 7},
		},
		Runs: []solve.Run{run(1, 1), run(2, 5)},
	}
	d := solve.Decide(v.Solve, v.Runs, solve.Rule{})
	v.Solve.Decision = &d
	return v
}

func TestDecideByPick(t *testing.T) {
	t.Parallel()
	v := picked()
	rule := solve.Reduce(v.Runs, solve.Rule{})
	want := rule
	want.Champion, want.First, want.PickedBy = 2, 1, "ann"
	if diff := cmp.Diff(want, *v.Solve.Decision); diff != "" {
		t.Error(diff)
	}
	if n := v.Solve.Decision.RunnerUp(); n != 1 {
		t.Errorf("the runner-up is %d", n)
	}
	if _, same := report.Explain(solve.Record{V: solve.RecordVersion, Solve: v.Solve, Runs: v.Runs}); !same {
		t.Error("the record does not recompute")
	}
	v.Runs[1].Verdict.Outcome = solve.Failed // cannot win, whoever picks it
	if d := solve.Decide(v.Solve, v.Runs, solve.Rule{}); d.Champion != 0 || d.PickedBy != "" {
		t.Errorf("%+v", d)
	}
}
