package fakeprovider

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// messagesAPI is Anthropic's messages.
func messagesAPI() api {
	return api{decode: decodeMessages, whole: wholeMessage, stream: streamMessage, fail: failure.anthropic}
}

type messagesRequest struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	System   json.RawMessage `json:"system"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
}

func decodeMessages(body []byte) (request, error) {
	var in messagesRequest
	if err := parse(body, &in); err != nil {
		return request{}, err
	}
	out := request{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		out.tools = append(out.tools, tool{kind: kindFunction, name: t.Name, schema: schemaOf(t.InputSchema)})
	}
	system, err := textOf(in.System)
	if err != nil {
		return request{}, fmt.Errorf("system: %w", err)
	}
	for i, m := range in.Messages {
		role, ok := roleOf(m.Role)
		if !ok || role == agent.RoleTool {
			return request{}, fmt.Errorf("messages[%d] has the unknown role %.40q", i, m.Role)
		}
		parts, err := partsOf(m.Content)
		if err != nil {
			return request{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		more, err := turn(role, parts)
		if err != nil {
			return request{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		out.history = append(out.history, more...)
	}
	if system != "" && len(out.history) > 0 {
		out.history = append([]agent.Message{{Role: agent.RoleSystem, Content: system}}, out.history...)
	}
	return out, nil
}

// turn is one message: a reply is one of ours, whatever blocks it has; of the
// others each block is one, because observations and texts are mixed there.
func turn(role string, parts []part) ([]agent.Message, error) {
	if role == agent.RoleAssistant {
		msg := agent.Message{Role: role}
		var texts []string
		for _, p := range parts {
			switch p.Type {
			case "text":
				texts = append(texts, p.Text)
			case "tool_use":
				msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{ID: p.ID, Name: p.Name, Arguments: string(p.Input)})
			}
		}
		msg.Content = strings.Join(texts, "\n")
		return []agent.Message{msg}, nil
	}
	var out []agent.Message
	for _, p := range parts {
		switch p.Type {
		case "text":
			out = append(out, agent.Message{Role: role, Content: p.Text})
		case "tool_result":
			text, err := textOf(p.Content)
			if err != nil {
				return nil, err
			}
			out = append(out, agent.Message{Role: agent.RoleTool, Content: text, ToolCallID: p.ToolUseID})
		}
	}
	return out, nil
}

// stopReason is the finish reason in Anthropic's words.
func (a answer) stopReason() string {
	switch {
	case a.finish == "length":
		return "max_tokens"
	case a.finish == "content_filter":
		return "refusal"
	case len(a.calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (a answer) message() map[string]any {
	return map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": a.messageUsage(1),
	}
}

func (a answer) messageUsage(output int64) map[string]any {
	return map[string]any{
		"input_tokens": a.tokens.Input - a.tokens.CachedRead, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": a.tokens.CachedRead, "output_tokens": output,
	}
}

func (c call) block(input any) map[string]any {
	return map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": input}
}

// input is the arguments as JSON; what is no JSON goes out as a text.
func (c call) input() any {
	if json.Valid([]byte(c.arguments)) {
		return json.RawMessage(c.arguments)
	}
	return c.arguments
}

func wholeMessage(a answer) any {
	content := []any{}
	if a.text != "" {
		content = append(content, map[string]any{"type": "text", "text": a.text})
	}
	for _, c := range a.calls {
		content = append(content, c.block(c.input()))
	}
	m := a.message()
	m["content"], m["stop_reason"], m["usage"] = content, a.stopReason(), a.messageUsage(a.tokens.Output)
	return m
}

func streamMessage(s *stream, a answer) {
	index := 0
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		s.event(kind, compact(fields))
	}
	block := func(start any, kind, field string, deltas []string) {
		send("content_block_start", map[string]any{"index": index, "content_block": start})
		if index == 0 {
			send("ping", map[string]any{})
		}
		for _, d := range deltas {
			send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": kind, field: d}})
		}
		send("content_block_stop", map[string]any{"index": index})
		index++
	}
	send("message_start", map[string]any{"message": a.message()})
	if a.text != "" {
		block(map[string]any{"type": "text", "text": ""}, "text_delta", "text", pieces(a.text))
	}
	for _, c := range a.calls {
		block(c.block(map[string]any{}), "input_json_delta", "partial_json", append([]string{""}, pieces(c.arguments)...))
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": a.stopReason(), "stop_sequence": nil}, "usage": a.messageUsage(a.tokens.Output),
	})
	send("message_stop", map[string]any{})
}
