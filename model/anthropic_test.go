package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// message is an answer in the shape of the messages reference. The text comes
// before the thinking, which has to be sent back first.
const message = `{
  "id": "msg_1", "type": "message", "role": "assistant", "model": "the-model-2026",
  "content": [
    {"type": "text", "text": "Now.", "citations": null},
    {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "cmVk"},
    {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls -la"}, "caller": {"type": "direct"}}
  ],
  "stop_reason": "tool_use", "stop_sequence": null, "container": null,
  "usage": {
    "input_tokens": 100, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": 50,
    "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 0}, "service_tier": "standard"
  }
}`

func TestAnthropicRequest(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{body: message})
	temp := 0.25
	m := open(t, model.Anthropic, u, nil, solve.Experiment{Temperature: &temp})
	if _, err := m.Query(t.Context(), history()); err != nil {
		t.Fatal(err)
	}
	r := u.requests[0]
	if r.Method != "POST" || r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != secret || r.Header.Get("Anthropic-Version") == "" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	result := func(id, text, marker string) string {
		return `{"type": "tool_result", "tool_use_id": "` + id + `", "is_error": false, "content": [{"type": "text", "text": "` + text + `"}]` + marker + `}`
	}
	want := decode(t, `{
	  "model": "the-model", "temperature": 0.25, "max_tokens": 16384,
	  "system": [{"type": "text", "text": "You are."}],
	  "messages": [
	    {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
	    {"role": "assistant", "content": [
	      {"type": "text", "text": "Looking."},
	      {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
	      {"type": "tool_use", "id": "c2", "name": "bash", "input": {"command": "pwd"}}]},
	    {"role": "user", "content": [`+result("c1", "out 1", "")+`, `+result("c2", "out 2", "")+`,
	      {"type": "text", "text": "Bad format."}]},
	    {"role": "assistant", "content": [
	      {"type": "tool_use", "id": "c3", "name": "bash", "input": {"command": "true"}}]},
	    {"role": "user", "content": [`+result("c3", "out 3", `, "cache_control": {"type": "ephemeral"}`)+`]}
	  ],
	  "tools": [{
	    "name": "bash", "description": "`+agent.ToolText+`",
	    "input_schema": {"type": "object", "required": ["command"],
	      "properties": {"command": {"type": "string", "description": "`+agent.ToolArgumentText+`"}}}
	  }]
	}`)
	if diff := cmp.Diff(want, u.sent(t, 0)); diff != "" {
		t.Error(diff)
	}
}

func TestAnthropicReply(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{body: message})
	m := open(t, model.Anthropic, u, func(e *model.Entry) {
		e.Price = agent.Price{Input: 2, CachedInput: 0.2, CacheWrite: 2.5, Output: 10}
	}, solve.Experiment{})
	got, err := m.Query(t.Context(), history())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, message), decode(t, string(got.Raw))); diff != "" {
		t.Error("raw:", diff)
	}
	if got.Message.Content != "Now." || got.FinishReason != "tool_calls" {
		t.Errorf("%+v", got)
	}
	wantCalls := []agent.ToolCall{{ID: "toolu_1", Name: "bash", Arguments: `{"command": "ls -la"}`}}
	if diff := cmp.Diff(wantCalls, got.Message.ToolCalls); diff != "" {
		t.Error(diff)
	}
	want := solve.Usage{Calls: 1, Input: 3300, CachedRead: 3000, Output: 50, Cost: 100*2 + 600 + 500 + 50*10}
	if diff := cmp.Diff(want, got.Usage); diff != "" {
		t.Error(diff)
	}
}

// Thinking goes back unchanged and first, also after a round through the stored transcript.
func TestAnthropicThinkingIsSentBack(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{body: message})
	m := open(t, model.Anthropic, u, nil, solve.Experiment{})
	h := history()[:2]
	got, err := m.Query(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(got.Message)
	if err != nil {
		t.Fatal(err)
	}
	var stored agent.Message
	if err := json.Unmarshal(line, &stored); err != nil {
		t.Fatal(err)
	}
	h = append(h, stored, agent.Message{Role: "tool", ToolCallID: "toolu_1", Content: "out"})
	if _, err := m.Query(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	want := decode(t, `{"role": "assistant", "content": [
	  {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
	  {"type": "redacted_thinking", "data": "cmVk"},
	  {"type": "text", "text": "Now."},
	  {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls -la"}}]}`)
	if diff := cmp.Diff(any(want), u.sent(t, 1)["messages"].([]any)[1]); diff != "" {
		t.Error(diff)
	}
}

// There is exactly one cache marker, whatever the last message is.
func TestAnthropicCacheMarker(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{body: message})
	m := open(t, model.Anthropic, u, nil, solve.Experiment{}).(agent.ModeSetter).InMode(agent.ModeText)
	if _, err := m.Query(t.Context(), history()[:2]); err != nil {
		t.Fatal(err)
	}
	want := decode(t, `{"model": "the-model", "max_tokens": 16384, "system": [{"type": "text", "text": "You are."}],
	  "messages": [{"role": "user", "content": [{"type": "text", "text": "Fix it.", "cache_control": {"type": "ephemeral"}}]}]}`)
	if diff := cmp.Diff(want, u.sent(t, 0)); diff != "" {
		t.Error("text mode, no tools, one marker:", diff)
	}
}

func TestAnthropicStopReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls",
		"refusal": "content_filter", "model_context_window_exceeded": "length",
	} {
		body := `{"id":"1","type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"` + reason + `","usage":{}}`
		m := open(t, model.Anthropic, serve(t, answer{body: body}), nil, solve.Experiment{})
		if got, err := m.Query(t.Context(), history()); err != nil || got.FinishReason != want {
			t.Errorf("%s: %q, %v", reason, got.FinishReason, err)
		}
	}
}
