package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestAgentsAreTold: where several agents compete, the texts say which run was whose.
func TestAgentsAreTold(t *testing.T) {
	t.Parallel()
	plan := solve.Plan{Experiments: []solve.Experiment{{Agent: "mini", Model: "m", Repeat: 1}, {Agent: "claude-code", Model: "m", Repeat: 1}}}
	v := report.View{Solve: solve.Solve{State: solve.StateRunning, Plan: plan}}
	for i, x := range plan.Experiments {
		v.Runs = append(v.Runs, solve.Run{N: i + 1, Experiment: x, State: solve.RunWorking})
	}
	text := report.ProgressComment(v)
	if !strings.Contains(text, "| Run | Agent | Model |") || !strings.Contains(text, "| `claude-code` | `m` |") {
		t.Errorf("the table does not tell the agents:\n%s", text)
	}
	plan.Experiments = plan.Experiments[:1]
	v.Solve.Plan, v.Runs = plan, v.Runs[:1]
	if text := report.ProgressComment(v); strings.Contains(text, "Agent") {
		t.Errorf("one agent has a column:\n%s", text)
	}
}
