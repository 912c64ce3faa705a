package solve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// picked is a solve whose champion a person chose: run 2 over run 1, both carried over.
func picked() solve.View {
	run := func(n, lines int) solve.Run {
		return solve.Run{
			Solve: "s2", N: n, State: solve.RunPassed, From: &solve.Origin{Solve: "s1", N: n},
			Experiment: solve.Experiment{Model: "m", Agent: "mini", Strategy: "plain"},
			Progress:   solve.Progress{Usage: solve.Usage{Cost: 1_500_000}},
			Candidate:  &solve.Candidate{SHA256: strings.Repeat("a", lines), Added: lines, Files: []solve.FileChange{{Path: "a.go", Op: "modify"}}},
			Verdict:    &solve.Verdict{Outcome: solve.Passed, Kept: 3},
		}
	}
	v := solve.View{
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
	if _, same := solve.Explain(solve.Record{V: solve.RecordVersion, Solve: v.Solve, Runs: v.Runs}); !same {
		t.Error("the record does not recompute")
	}
	v.Runs[1].Verdict.Outcome = solve.Failed // cannot win, whoever picks it
	if d := solve.Decide(v.Solve, v.Runs, solve.Rule{}); d.Champion != 0 || d.PickedBy != "" {
		t.Errorf("%+v", d)
	}
}

// TestTextsOfAPick say who chose and against what, and count no money twice.
func TestTextsOfAPick(t *testing.T) {
	t.Parallel()
	v := picked()
	for name, c := range map[string]struct {
		text          string
		want, without []string
	}{
		"why":      {solve.WhyText(v), []string{"because `ann` picked it", "By the rule run 1 ranks before it: "}, nil},
		"final":    {solve.FinalComment(v), []string{"#7 carries run 2", "$1.50, paid in an earlier solve", "run 2 was picked"}, []string{"of $0"}},
		"progress": {solve.ProgressComment(v), []string{"passed, carried over", "with a button", "makes run 2 the champion of solve `s1`"}, []string{"Cost so far"}},
		"body":     {solve.PullBody(v), []string{"because `ann` picked it"}, []string{"last revision"}},
	} {
		for _, w := range c.want {
			if !strings.Contains(c.text, w) {
				t.Errorf("%s lacks %q:\n%s", name, w, c.text)
			}
		}
		for _, w := range c.without {
			if strings.Contains(c.text, w) {
				t.Errorf("%s says %q:\n%s", name, w, c.text)
			}
		}
	}
}

func TestTextsOfARevision(t *testing.T) {
	t.Parallel()
	v := picked()
	v.Solve.Follows = &solve.Follow{Kind: solve.FollowRevise, Of: "s1", Text: "Shorten <!-- lengthen -->it.", Pull: &solve.Pull{Number: 7}}
	v.Solve.Issue = solve.Issue{Number: 3, Title: "It is wrong", Body: "Always."}
	v.Solve.Branch, v.Solve.Base = "ai/fix-3", solve.Base{Branch: "main", SHA: "c0ffee"}
	if got, want := v.Solve.Task(), "It is wrong\n\nAlways.\n\nThe repository already holds a proposed change for this issue. A reviewer asks for this on top of it:\n\nShorten it."; got != want {
		t.Errorf("the task is %q", got)
	}
	for _, w := range []string{"scorecard of the last revision", "`ai/fix-3` at `c0ffee`"} {
		if body := solve.PullBody(v); !strings.Contains(body, w) {
			t.Errorf("the body lacks %q:\n%s", w, body)
		}
	}
	v.Solve.State, v.Solve.Pull, v.Solve.Decision = solve.StateUnsolved, nil, &solve.Decision{}
	if text := solve.FinalComment(v); !strings.Contains(text, "so #7 is as it was") {
		t.Error(text)
	}
}
