package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Commands are what a message asks to be run.
func Commands(m Message) (out []string) {
	for _, c := range m.ToolCalls {
		var args struct {
			Command string `json:"command"`
		}
		if json.Unmarshal([]byte(c.Arguments), &args) != nil || args.Command == "" {
			args.Command = strings.TrimSpace(c.Name + " " + c.Arguments)
		}
		out = append(out, args.Command)
	}
	if len(out) > 0 {
		return out
	}
	actions, _ := m.Extra[keyActions].([]any)
	for _, a := range actions {
		one, _ := a.(map[string]any)
		if text, ok := one["command"].(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// LastAction is the last thing that an agent did in these lines of its transcript, as [solve.Progress.Last] has it but of any
// length; "" if it did nothing.
func LastAction(lines []byte) string {
	messages, _ := ReadTranscript(lines)
	for _, m := range slices.Backward(messages) {
		if m.Role != RoleAssistant {
			continue
		}
		if all := Commands(m); len(all) > 0 {
			return solve.OneLine("$ " + strings.Join(all, "; "))
		}
		if said := solve.OneLine(m.Content); said != "" {
			return said
		}
	}
	return ""
}
