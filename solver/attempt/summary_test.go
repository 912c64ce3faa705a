package attempt_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/attempt"
)

// TestLastAction: the last command of a step's lines, else what the agent said; short, and without a credential.
func TestLastAction(t *testing.T) {
	t.Parallel()
	said := func(text string, extra map[string]any, calls ...agent.ToolCall) string {
		return agent.JSON(agent.Message{Role: agent.RoleAssistant, Content: text, Extra: extra, ToolCalls: calls}) + "\n"
	}
	actions := map[string]any{"actions": []any{map[string]any{"command": "go test ./...\necho"}}}
	output := agent.JSON(agent.Message{Role: agent.RoleTool, Content: "ok"}) + "\n"
	for name, c := range map[string]struct{ lines, want string }{
		"a command":      {said("Test it.", actions) + output, "$ go test ./... echo"},
		"a call":         {said("", nil, agent.ToolCall{Name: "bash", Arguments: `{"command":"ls"}`}), "$ ls"},
		"another tool":   {said("", nil, agent.ToolCall{Name: "Read", Arguments: `{"path":"x"}`}), `$ Read {"path":"x"}`},
		"words":          {said("I  see.\nIt is the sum.", nil), "I see. It is the sum."},
		"the last step":  {said("one", nil) + said("two", nil) + output, "two"},
		"only output":    {output, ""},
		"nothing":        {"", ""},
		"a credential":   {said("I use ghp_"+strings.Repeat("a1", 18), nil), ""},
		"one at the cut": {said(strings.Repeat("ä", 190)+" ghp_"+strings.Repeat("a1", 18), nil), ""},
		"too long":       {said(strings.Repeat("ä", 700), nil), strings.Repeat("ä", solve.MaxAction-1) + "…"},
	} {
		if got := attempt.LastAction([]byte(c.lines)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ exit, submission, want string }{
		"words":             {agent.ExitSubmitted, "The sum began at 1.\n It begins\u200b at 0 now.\n", "The sum began at 1. It begins at 0 now."},
		"nothing":           {agent.ExitSubmitted, "\n", ""},
		"a patch":           {agent.ExitSubmitted, "diff --git a/x b/x\n@@ -1 +1 @@\n", ""},
		"a patch, no head":  {agent.ExitSubmitted, "--- a/x\n+++ b/x\n", ""},
		"a credential":      {agent.ExitSubmitted, "I used ghp_" + strings.Repeat("a1", 18), ""},
		"the prompt's":      {agent.ExitSubmitted, "<one sentence: what was wrong>\n<one or two sentences: what the change does>\n", ""},
		"half the prompt's": {agent.ExitSubmitted, "The sum began at 1.\n <one or two sentences: what the change does>\n", "The sum began at 1."},
		"angles":            {agent.ExitSubmitted, "<div> was\nnot closed, nor <b>", "<div> was not closed, nor <b>"},
		"it did not submit": {agent.ExitLimits, "The sum began at 1.", ""},
		"too long":          {agent.ExitSubmitted, strings.Repeat("ä", 700), strings.Repeat("ä", solve.MaxSummary-1) + "…"},
	} {
		if got := attempt.Summary(agent.Result{Exit: c.exit, Submission: c.submission}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
