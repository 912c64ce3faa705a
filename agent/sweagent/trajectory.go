package sweagent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// mostTrajectory is the most bytes of a trajectory that are read.
const mostTrajectory = 64 << 20

// recorded is what we read of a trajectory file.
type recorded struct {
	Steps []step `json:"trajectory"`
	Info  struct {
		Exit       *string `json:"exit_status"`
		Submission *string `json:"submission"`
	} `json:"info"`
}

type step struct {
	Action      string `json:"action"`
	Observation string `json:"observation"`
	Response    string `json:"response"`
	Thought     string `json:"thought"`
}

// trajectory is the file that SWE-agent writes after every step, without secrets; nil if
// there is none.
func (r *run) trajectory() []byte {
	f, err := os.Open(r.path("out/" + instance + "/" + instance + ".traj"))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, mostTrajectory+1))
	if err != nil || len(data) > mostTrajectory {
		return nil
	}
	return r.rec.Redact(data)
}

// read is the trajectory so far. The file is not replaced but rewritten: one that cannot
// be read is being written just now.
func (r *run) read() (recorded, bool) {
	var t recorded
	err := json.Unmarshal(r.trajectory(), &t)
	return t, err == nil
}

// collect stores the steps that are new.
func (r *run) collect(ctx context.Context) error {
	t, ok := r.read()
	if !ok || len(t.Steps) <= r.seen {
		return nil
	}
	var messages []agent.Message
	for i, s := range t.Steps[r.seen:] {
		messages = append(messages, s.messages(r.seen+i+1)...)
		r.rec.Printed += int64(len(s.Observation))
	}
	r.seen = len(t.Steps)
	if err := r.rec.CheckTree(ctx); err != nil {
		return err
	}
	return r.rec.Append(ctx, messages...)
}

// messages are a step in the form of the native agent.
func (s step) messages(n int) []agent.Message {
	said := s.Thought
	if strings.TrimSpace(said) == "" {
		said = s.Response
	}
	m := agent.Message{Role: agent.RoleAssistant, Content: said, Extra: map[string]any{}}
	if s.Action == "" {
		return []agent.Message{m}
	}
	id := fmt.Sprintf("step_%d", n)
	arguments, err := json.Marshal(map[string]string{agent.ToolArgument: s.Action})
	if err == nil {
		m.ToolCalls = []agent.ToolCall{{ID: id, Name: agent.ToolName, Arguments: string(arguments)}}
	}
	return []agent.Message{m, {Role: agent.RoleTool, ToolCallID: id, Content: s.Observation, Extra: map[string]any{}}}
}
