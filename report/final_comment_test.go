package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestFinalCommentLeadsOn: the final comment of a solved issue says which patch won, how well that is shown, and what else can be
// had; what the pull request says, it leaves there.
func TestFinalCommentLeadsOn(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	v.Checks = "https://github.test/o/r/runs/7"
	text := report.FinalComment(v)
	for _, want := range []string{"**Solved, proven:** #34", "run 2 of 5", "`small`", "`/yudai pick 1`", "](https://github.test/o/r/runs/7)", "`/yudai revise TEXT`"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	body := report.PullBody(v)
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && strings.Contains(body, line) {
			t.Errorf("%q stands in the pull request, too", line)
		}
	}
	for _, repeated := range []string{"| Run |", "coupons", "Against run", "Agreement"} {
		if strings.Contains(text, repeated) {
			t.Errorf("it repeats %q:\n%s", repeated, text)
		}
	}
	if strings.Contains(text, "run 4") {
		t.Errorf("run 4 has the champion's own patch and is offered:\n%s", text)
	}
	for i := range v.Runs {
		if i != 1 {
			v.Runs[i].State = solve.RunFailed
		}
	}
	if text := report.FinalComment(v); !strings.Contains(text, "No other patch passed.") || strings.Contains(text, "/yudai pick") {
		t.Error(text)
	}
}
