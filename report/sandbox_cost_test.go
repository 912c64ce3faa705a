package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestSandboxCostIsShownWhereItIsNotZero: in the scorecard, the run's own one, and the
// texts that tell what the models cost; and it is not the models' cost.
func TestSandboxCostIsShownWhereItIsNotZero(t *testing.T) {
	t.Parallel()
	paid := func(hourly solve.Money) report.View {
		v := sample(solve.StateSolved)
		v.Solve.Base.SandboxUses = []solve.SandboxUse{{Phase: "prepare", Driver: "prime", Hourly: hourly, Opened: v.Solve.Started, Closed: v.Solve.Started.Add(time.Hour)}}
		for i := range v.Runs {
			v.Runs[i].SandboxUses = []solve.SandboxUse{{Phase: "work", Driver: "e2b", Hourly: hourly, Opened: v.Solve.Started, Closed: v.Solve.Started.Add(time.Hour)}}
		}
		return v
	}
	v := paid(2_000_000)
	champion := v.Solve.Decision.Champion
	body := report.PullBody(v)
	for name, text := range map[string]string{
		"pull request": body, "final": report.FinalComment(v), "progress": report.ProgressComment(v), "status": report.StatusText(v),
		"terminal": report.Console(v, 200), "run": report.RunCheckOf(v, champion).Summary,
	} {
		if !strings.Contains(strings.ToLower(text), "sandboxes") || !strings.Contains(text, "$2.00") && !strings.Contains(text, "for sandboxes") {
			t.Errorf("%s does not tell the cost of sandboxes:\n%s", name, text)
		}
	}
	free := paid(0)
	body = report.PullBody(free)
	for _, text := range []string{body, report.FinalComment(free), report.ProgressComment(free), report.Console(free, 200), report.RunCheckOf(free, champion).Summary} {
		if strings.Contains(strings.ToLower(text), "sandboxes") {
			t.Errorf("free sandboxes are spoken of:\n%s", text)
		}
	}
	if solve.Cost(v.Runs) != solve.Cost(free.Runs) {
		t.Error("sandboxes count as model costs")
	}
	for i := range v.Runs {
		v.Runs[i].From = &solve.Origin{Solve: "x", N: 1}
	}
	if got := solve.SandboxCost(v.Solve, v.Runs); got != 2_000_000 {
		t.Errorf("carried runs are paid again: %s", got)
	}
}
