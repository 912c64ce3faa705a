package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestUnknownPricesAreTold: what a model without a price costs is unknown in every text, and each says that no limit of money holds.
func TestUnknownPricesAreTold(t *testing.T) {
	t.Parallel()
	for _, state := range []solve.State{solve.StateRunning, solve.StateSolved, solve.StateUnsolved} {
		v := sample(state)
		v.Solve.Plan.Unpriced = []string{"small", "large", "fixed"}
		for i := range v.Runs {
			v.Runs[i].Progress.Usage.Cost = 0
		}
		all := texts(v)
		all["page"] = report.PageOf(v).Cost + ". " + report.PageOf(v).NoLimit
		names := map[solve.State]string{
			solve.StateRunning: "progress status check page", solve.StateSolved: "progress final check pull status terminal page",
			solve.StateUnsolved: "final check terminal page",
		}[state]
		for _, name := range strings.Fields(names) {
			text := all[name]
			if !strings.Contains(text, "unknown") || !strings.Contains(strings.ToLower(text), "no limit of money holds") {
				t.Errorf("%s, %s does not say that the cost is unknown:\n%s", state, name, text)
			}
			if n := strings.Count(text, "$0"); n > 1 { // the run that never called its model cost nothing
				t.Errorf("%s, %s says $0 %d times:\n%s", state, name, n, text)
			}
		}
		if state == solve.StateSolved {
			golden(t, "testdata/text/unpriced-progress.md", all["progress"])
			golden(t, "testdata/text/unpriced-final.md", all["final"])
			golden(t, "testdata/text/unpriced-terminal.md", all["terminal"])
			golden(t, "testdata/text/unpriced-run-2.md", all["run-2"])
		}
	}
}

// TestSomePricesAreUnknown: what is known is a lower bound, and only the models without a price are named.
func TestSomePricesAreUnknown(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	v.Solve.Plan.Unpriced, v.Runs[3].Progress.Usage.Cost = []string{"large"}, 0
	text := report.FinalComment(v)
	want := "Cost of all runs: $0.0304 or more. No limit of money holds for `large`: no price is in the configuration."
	if !strings.Contains(text, want) {
		t.Error(text)
	}
	if got := report.RunPageOf(v, 4).Cost + ", " + report.RunPageOf(v, 5).Cost + ", " + report.RunPageOf(v, 1).Cost; got != "unknown, $0, $0.0123" {
		t.Error(got)
	}
}
