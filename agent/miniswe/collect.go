package miniswe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// mostTrajectory is the longest trajectory file that is read; the agent's commands can
	// write it, too.
	mostTrajectory = 64 << 20
	// mostText is how many bytes of one text the transcript keeps. The trajectory file has
	// all of it.
	mostText = 256 << 10
)

// file is what is read of a trajectory, format mini-swe-agent-1.1.
type file struct {
	Info struct {
		ExitStatus string `json:"exit_status"`
		Submission string `json:"submission"`
	} `json:"info"`
	Messages []json.RawMessage `json:"messages"`
}

// read returns the trajectory and its bytes. It returns none before the first step, and while
// mini is writing the file.
func read(ctx context.Context, box sandbox.Sandbox) (*file, []byte, error) {
	r, err := box.Get(ctx, trajectory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open trajectory: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, mostTrajectory+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, nil, fmt.Errorf("read trajectory: %w", err)
	}
	f := &file{}
	if whole := len(data) <= mostTrajectory && json.Unmarshal(data, f) == nil; !whole {
		return nil, nil, nil
	}
	return f, data, nil
}

// collect returns the messages after the first taken ones.
func collect(ctx context.Context, box sandbox.Sandbox, taken int) ([]agent.Message, int, error) {
	f, _, err := read(ctx, box)
	if err != nil || f == nil {
		return nil, taken, err
	}
	var out []agent.Message
	for ; taken < len(f.Messages); taken++ {
		var t turn
		if json.Unmarshal(f.Messages[taken], &t) != nil {
			continue
		}
		if m, ok := t.message(); ok {
			out = append(out, m)
		}
	}
	return out, taken, nil
}

// turn is a message of the file: a provider's own, of chat completions or of responses.
type turn struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	// Of the Responses API.
	Object string          `json:"object"`
	Type   string          `json:"type"`
	CallID string          `json:"call_id"`
	Output json.RawMessage `json:"output"`

	Extra map[string]any `json:"extra"`
}

// item is one part of a response.
type item struct {
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
}

// message is the turn in the neutral form. It leaves the exit message out: package command
// writes that.
func (t turn) message() (agent.Message, bool) {
	m := agent.Message{Role: t.Role, Content: command.TextOf(t.Content), ToolCallID: t.ToolCallID, Extra: t.extra()}
	for _, c := range t.ToolCalls {
		arguments := solve.CutText(c.Function.Arguments, mostText)
		m.ToolCalls = append(m.ToolCalls, agent.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: arguments})
	}
	switch {
	case t.Object == "response":
		m.Role = agent.RoleAssistant
		m.Content, m.ToolCalls = response(t.Output)
	case t.Type == "function_call_output":
		m.Role, m.ToolCallID, m.Content = agent.RoleTool, t.CallID, command.TextOf(t.Output)
	}
	m.Content = solve.CutText(m.Content, mostText)
	switch m.Role {
	case agent.RoleSystem, agent.RoleUser, agent.RoleAssistant, agent.RoleTool:
		return m, true
	}
	return agent.Message{}, false
}

// response is the text and the calls of an answer of the Responses API.
func response(output json.RawMessage) (string, []agent.ToolCall) {
	var items []item
	if json.Unmarshal(output, &items) != nil {
		return "", nil
	}
	var texts []string
	var calls []agent.ToolCall
	for _, i := range items {
		switch i.Type {
		case "message":
			texts = append(texts, command.TextOf(i.Content))
		case "function_call":
			calls = append(calls, agent.ToolCall{ID: i.CallID, Name: i.Name, Arguments: solve.CutText(i.Arguments, mostText)})
		}
	}
	return strings.Join(texts, "\n"), calls
}

// extra is what the transcript keeps: not the provider's whole answer, which repeats the rest,
// and only the beginning of long outputs.
func (t turn) extra() map[string]any {
	out := map[string]any{}
	for k, v := range t.Extra {
		if k == "response" {
			continue
		}
		if s, ok := v.(string); ok && len(s) > mostText {
			v = solve.CutText(s, mostText)
			out[k+"_cut"] = true
		}
		out[k] = v
	}
	return out
}
