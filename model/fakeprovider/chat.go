package fakeprovider

import (
	"encoding/json"
	"fmt"

	"github.com/yudai-dev/yudai/agent"
)

// chatAPI is OpenAI's chat completions.
func chatAPI() api {
	return api{decode: decodeChat, whole: wholeChat, stream: streamChat, fail: failure.openAI}
}

type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
			Custom struct {
				Name  string `json:"name"`
				Input string `json:"input"`
			} `json:"custom"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
		Custom struct {
			Name string `json:"name"`
		} `json:"custom"`
	} `json:"tools"`
}

func decodeChat(body []byte) (request, error) {
	var in chatRequest
	if err := parse(body, &in); err != nil {
		return request{}, err
	}
	out := request{model: in.Model, stream: in.Stream, usage: in.StreamOptions.IncludeUsage}
	for _, t := range in.Tools {
		if t.Type == kindCustom {
			out.tools = append(out.tools, tool{kind: kindCustom, name: t.Custom.Name})
			continue
		}
		out.tools = append(out.tools, tool{kind: kindFunction, name: t.Function.Name, schema: schemaOf(t.Function.Parameters)})
	}
	for i, m := range in.Messages {
		role, ok := roleOf(m.Role)
		if !ok {
			return request{}, fmt.Errorf("messages[%d] has the unknown role %.40q", i, m.Role)
		}
		text, err := textOf(m.Content)
		if err != nil {
			return request{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		msg := agent.Message{Role: role, Content: text, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{
				ID: c.ID, Name: c.Function.Name + c.Custom.Name, Arguments: c.Function.Arguments + c.Custom.Input,
			})
		}
		out.history = append(out.history, msg)
	}
	return out, nil
}

// roleOf is the role in our words.
func roleOf(role string) (string, bool) {
	switch role {
	case "system", "developer":
		return agent.RoleSystem, true
	case "user":
		return agent.RoleUser, true
	case "assistant":
		return agent.RoleAssistant, true
	case "tool", "function":
		return agent.RoleTool, true
	}
	return "", false
}

func wholeChat(a answer) any {
	message := map[string]any{"role": "assistant", "content": a.text, "refusal": nil, "annotations": []any{}}
	if len(a.calls) > 0 {
		if a.text == "" {
			message["content"] = nil
		}
		calls := make([]any, 0, len(a.calls))
		for _, c := range a.calls {
			calls = append(calls, c.chat())
		}
		message["tool_calls"] = calls
	}
	return map[string]any{
		"id": "chatcmpl-" + a.id, "object": "chat.completion", "created": a.created, "model": a.model,
		"choices":      []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": a.finish}},
		"usage":        a.chatUsage(),
		"service_tier": "default", "system_fingerprint": nil,
	}
}

func (c call) chat() map[string]any {
	if c.kind == kindCustom {
		return map[string]any{"id": c.id, "type": kindCustom, "custom": map[string]any{"name": c.name, "input": c.arguments}}
	}
	return map[string]any{"id": c.id, "type": kindFunction, "function": map[string]any{"name": c.name, "arguments": c.arguments}}
}

func (a answer) chatUsage() any {
	return map[string]any{
		"prompt_tokens": a.tokens.Input, "completion_tokens": a.tokens.Output, "total_tokens": a.tokens.Input + a.tokens.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": a.tokens.CachedRead, "audio_tokens": 0},
		"completion_tokens_details": map[string]any{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
}

func streamChat(s *stream, a answer) {
	chunk := func(choices []any, usage any) {
		m := map[string]any{
			"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": a.created, "model": a.model,
			"service_tier": "default", "system_fingerprint": nil, "choices": choices,
		}
		if a.usage {
			m["usage"] = usage // null in every chunk but the last
		}
		s.event("", compact(m))
	}
	delta := func(d map[string]any, finish any) {
		chunk([]any{map[string]any{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	first := map[string]any{"role": "assistant", "content": "", "refusal": nil}
	if a.text == "" && len(a.calls) > 0 {
		first["content"] = nil
	}
	delta(first, nil)
	for _, p := range pieces(a.text) {
		delta(map[string]any{"content": p}, nil)
	}
	for i, c := range a.calls {
		open, field := c.chat(), "arguments"
		inner, _ := open[kindFunction].(map[string]any)
		if c.kind == kindCustom {
			inner, _ = open[kindCustom].(map[string]any)
			field = "input"
		}
		inner[field] = ""
		open["index"] = i
		delta(map[string]any{"tool_calls": []any{open}}, nil)
		for _, p := range pieces(c.arguments) {
			kind := open["type"].(string)
			delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, kind: map[string]any{field: p}}}}, nil)
		}
	}
	delta(map[string]any{}, a.finish)
	if a.usage {
		chunk([]any{}, a.chatUsage())
	}
	s.event("", "[DONE]")
}
