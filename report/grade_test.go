package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// unproven is the sample without a test that any candidate fixes, decided by the rule of its settings.
func unproven(rule solve.UnprovenRule, change func(v *report.View)) report.View {
	v := sample(solve.StateSolved)
	for i := range v.Runs {
		if t := v.Runs[i].Verdict; t != nil && t.Fixed > 0 {
			t.Fixed, t.FixedTests, t.Still = 0, nil, 1
		}
	}
	other := *v.Runs[3].Candidate // no other model makes the champion's change
	other.SHA256, other.Lines = "dd", []string{"+dd"}
	v.Runs[3].Candidate = &other
	v.Solve.Plan.Settings = &solve.Settings{Unproven: rule}
	if change != nil {
		change(&v)
	}
	d := solve.Decide(v.Solve, v.Runs, solve.Rule{Models: v.Solve.Plan.Order})
	v.Solve.Decision = &d
	if d.Champion == 0 {
		v.Solve.State, v.Solve.Pull, v.Solve.Reason = solve.StateUnsolved, nil, "A candidate that is unproven is only told (solver.unproven is comment)."
	}
	return v
}

func weaken(v *report.View) {
	for i := range v.Runs {
		if v.Runs[i].Verdict != nil {
			v.Runs[i].Verdict.Weakens = []string{"cart_test.go"}
		}
	}
}

func TestTextsOfAnUnprovenChampion(t *testing.T) {
	t.Parallel()
	all := texts(unproven(solve.UnprovenDraft, weaken))
	for _, name := range []string{"pull", "final", "commit", "terminal"} {
		golden(t, "testdata/text/unproven-"+name+".md", all[name])
	}
	all = texts(unproven(solve.UnprovenComment, weaken))
	for _, name := range []string{"final", "check", "terminal"} {
		golden(t, "testdata/text/withheld-"+name+".md", all[name])
	}
}

// TestGradeIsToldEverywhere: every text about a champion says its grade in its first line of yudai's own,
// and what shows it.
func TestGradeIsToldEverywhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		view  report.View
		grade solve.Grade
		want  string
	}{
		"proven": {sample(solve.StateSolved), solve.Proven, "a test that fails on main passes with this change."},
		"two tests": {unproven(solve.UnprovenDraft, func(v *report.View) { v.Runs[1].Verdict.Fixed = 2 }), solve.Proven,
			"2 tests that fail on main pass with this change."},
		"supported": {unproven(solve.UnprovenDraft, func(v *report.View) {
			v.Runs[1].Candidate.Lines, v.Runs[3].Candidate.Lines = []string{"+1", "+2"}, []string{"+1", "+2"}
		}), solve.Supported, "a candidate of another model makes much the same change; no test shows the fix. " +
			"On published issues, 71 % of the supported champions were right."},
		"unproven": {unproven(solve.UnprovenDraft, nil), solve.Unproven,
			"no test shows the fix, and no candidate of another model makes much the same change. " +
				"On published issues, 36 % of the unproven champions were right."},
		"its own test": {unproven(solve.UnprovenDraft, func(v *report.View) { v.Runs[1].Verdict.Proofs = 1 }), solve.Unproven,
			"its own new test fails without the change, but no other test shows that it is right, and no candidate of another model"},
	} {
		v := c.view
		_, explained, _ := strings.Cut(explain(v), "Champion: run 2.\n")
		for kind, text := range map[string]string{
			"final comment": report.FinalComment(v), "progress": report.ProgressComment(v), "status": report.StatusText(v), "why": report.WhyText(v),
			"pull request": report.PullBody(v), "check": report.CheckOf(v).Summary, "terminal": report.Console(v, 1000), "explain": explained,
		} {
			text = strings.ReplaceAll(text, "`", "")
			if _, rest, ours := strings.Cut(text, "-->\n\n"); ours {
				text = rest
			}
			if words, rest, said := strings.Cut(text, "yudai did not check them\n\n"); said && strings.HasPrefix(words, "> ") {
				text = rest // the agent's own words stand before the grade of a pull request
			}
			first := strings.Join(strings.SplitN(text, "\n", 3)[:2], "\n") // a warning has two lines
			if !strings.Contains(strings.ToLower(first), string(c.grade)) || !strings.Contains(strings.ToLower(first), strings.ToLower(c.want)) {
				t.Errorf("%s, %s: the first line is %q, want %s: %s", name, kind, first, c.grade, c.want)
			}
		}
		if m := report.CommitMessage(v); !strings.Contains(strings.ToLower(m), "\n"+string(c.grade)+": ") {
			t.Errorf("%s: the commit does not tell the grade:\n%s", name, m)
		}
		if title := report.CheckOf(v).Title; !strings.Contains(title, string(c.grade)) {
			t.Errorf("%s: the check's title is %q", name, title)
		}
	}
}

// TestAgentWords: a pull request begins with what the champion's agent says, if it says something, and says whose words they are.
func TestAgentWords(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	_, body, _ := strings.Cut(report.PullBody(v), "-->\n\n")
	if !strings.HasPrefix(body, "> The total subtracted ") || !strings.Contains(body, "\n> — the agent of run 2 (`small`), in its own words") {
		t.Error(body)
	}
	v.Runs[1].Summary = ""
	if body := report.PullBody(v); strings.Contains(body, "own words") || strings.Contains(body, "\n> ") {
		t.Error(body)
	}
}

// TestPullBodyIsInOrder: the reasons stand before the details, and the tables are folded and stand once.
func TestPullBodyIsInOrder(t *testing.T) {
	t.Parallel()
	body, at := report.PullBody(sample(solve.StateSolved)), 0
	for _, part := range []string{"own words", "**Proven:**", "Fixes #12", "### Why this one", "the runner-up**", "### What it changes",
		"git fetch origin ai/fix-12-d1a2 && git switch --detach FETCH_HEAD\ngo test ./...\n", "<summary>All runs</summary>", "| Run |"} {
		i := strings.Index(body[at:], part)
		if i < 0 {
			t.Fatalf("%q does not stand where it should in\n%s", part, body)
		}
		at += i
	}
	if strings.Count(body, "| Run |") != 1 || strings.Contains(body, "Against run 3") {
		t.Error(body)
	}
}

func explain(v report.View) string {
	text, _ := report.Explain(solve.Record{V: solve.RecordVersion, Solve: v.Solve, Runs: v.Runs})
	return text
}

// TestForeignTestsProve: the texts name whose tests they are.
func TestForeignTestsProve(t *testing.T) {
	t.Parallel()
	v := unproven(solve.UnprovenDraft, nil)
	v.Solve.Decision.Cross = []solve.CrossResult{{Author: 1, Run: 2, Passed: []string{"shop.TestMine"}}}
	if text := report.PullBody(v); !strings.Contains(text, "**Proven:** a test of another candidate fails without this change and passes with it.") {
		t.Error(text)
	}
}

// TestWithheldIsRecomputed: the record says who would have won, and the buttons offer it.
func TestWithheldIsRecomputed(t *testing.T) {
	t.Parallel()
	v := unproven(solve.UnprovenComment, nil)
	text, same := report.Explain(solve.Record{V: solve.RecordVersion, Solve: v.Solve, Runs: v.Runs})
	if !same || v.Solve.Decision.Withheld != 2 || v.Solve.Decision.RunnerUp() != 2 || !strings.Contains(text, "Run 2 would be it") {
		t.Errorf("%+v\n%s", v.Solve.Decision, text)
	}
	var labels []string
	for _, a := range report.CheckOf(v).Actions {
		labels = append(labels, a.Label)
	}
	if got := strings.Join(labels, ", "); got != "Open a pull request, Retry" {
		t.Errorf("buttons %s", got)
	}
}
