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
