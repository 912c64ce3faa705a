package model_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// chat is an answer in the shape of the chat completions reference.
const chat = `{
  "id": "chatcmpl-1", "object": "chat.completion", "created": 1741569952, "model": "the-model-2026",
  "choices": [{
    "index": 0, "logprobs": null, "finish_reason": "tool_calls",
    "message": {
      "role": "assistant", "content": "Now.", "refusal": null, "annotations": [],
      "tool_calls": [
        {"id": "call_a", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls -la\"}"}},
        {"id": "call_b", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":"}}
      ]
    }
  }],
  "usage": {
    "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
    "prompt_tokens_details": {"cached_tokens": 400, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 20}
  },
  "service_tier": "default", "system_fingerprint": "fp"
}`

func TestOpenAIRequest(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{body: chat})
	temp := 0.25
	m := open(t, model.OpenAI, u, func(e *model.Entry) { e.MaxTokens = 500 }, solve.Experiment{Temperature: &temp})
	if _, err := m.Query(t.Context(), history()); err != nil {
		t.Fatal(err)
	}
	r := u.requests[0]
	if r.Method != "POST" || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+secret {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	want := decode(t, `{
	  "model": "the-model", "temperature": 0.25, "max_tokens": 500,
	  "messages": [
	    {"role": "system", "content": "You are."},
	    {"role": "user", "content": "Fix it."},
	    {"role": "assistant", "content": "Looking.", "tool_calls": [
	      {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}},
	      {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"pwd\"}"}}]},
	    {"role": "tool", "tool_call_id": "c1", "content": "out 1"},
	    {"role": "tool", "tool_call_id": "c2", "content": "out 2"},
	    {"role": "user", "content": "Bad format."},
	    {"role": "assistant", "tool_calls": [
	      {"id": "c3", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"true\"}"}}]},
	    {"role": "tool", "tool_call_id": "c3", "content": "out 3"}
	  ],
	  "tools": [{"type": "function", "function": {
	    "name": "bash", "description": "`+agent.ToolText+`",
	    "parameters": {"type": "object", "required": ["command"],
	      "properties": {"command": {"type": "string", "description": "`+agent.ToolArgumentText+`"}}}
	  }}]
	}`)
	if diff := cmp.Diff(want, u.sent(t, 0)); diff != "" {
		t.Error(diff)
	}
}

func TestOpenAIReply(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{body: chat})
	m := open(t, model.OpenAI, u, func(e *model.Entry) { e.Price = agent.Price{Input: 2, CachedInput: 0.5, Output: 8} }, solve.Experiment{})
	got, err := m.Query(t.Context(), history())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, chat), decode(t, string(got.Raw))); diff != "" {
		t.Error("raw:", diff)
	}
	got.Raw = nil
	want := agent.Reply{
		Message: agent.Message{Role: "assistant", Content: "Now.", ToolCalls: []agent.ToolCall{
			{ID: "call_a", Name: "bash", Arguments: `{"command":"ls -la"}`},
			{ID: "call_b", Name: "bash", Arguments: `{"command":`}, // the loop judges it
		}},
		FinishReason: "tool_calls",
		Usage:        solve.Usage{Calls: 1, Input: 1000, CachedRead: 400, Output: 50, Cost: 600*2 + 400/2 + 50*8},
	}
	if diff := cmp.Diff(want, got); diff != "" || m.Name() != "m" {
		t.Error(diff)
	}
}

// In text mode no tool is declared; without a temperature none is sent.
func TestOpenAITextMode(t *testing.T) {
	t.Parallel()
	body := `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant","content":"half a"}}]}`
	u := serve(t, answer{body: body})
	m := open(t, model.OpenAI, u, nil, solve.Experiment{}).(agent.ModeSetter).InMode(agent.ModeText)
	got, err := m.Query(t.Context(), history()[:2])
	if err != nil {
		t.Fatal(err)
	}
	want := decode(t, `{"model":"the-model","messages":[{"role":"system","content":"You are."},{"role":"user","content":"Fix it."}]}`)
	if diff := cmp.Diff(want, u.sent(t, 0)); diff != "" {
		t.Error(diff)
	}
	if got.FinishReason != "length" || got.Message.Content != "half a" || got.Usage.Calls != 1 {
		t.Errorf("%+v", got)
	}
}

// own is a transport that sends what goes to the provider's own address to an upstream.
type own struct{ to *upstream }

func (o own) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(o.to.URL, "http://")
	out.Header.Set("X-Meant-For", r.URL.Scheme+"://"+r.URL.Host)
	return http.DefaultTransport.RoundTrip(out)
}

// The provider's own server is spoken to in its newest words, compatible ones in the oldest.
func TestProvidersOwnServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entry                    model.Entry
		mode                     string
		host, path, effort, size string
	}{
		{model.Entry{Provider: "openai", Model: "gpt-5"}, agent.ModeTools, "https://api.openai.com", "/v1/chat/completions", "", "max_completion_tokens"},
		{model.Entry{Provider: "openai", Model: "gpt-5", BaseURL: "https://api.openai.com/v1"}, agent.ModeTools, "https://api.openai.com", "/v1/chat/completions", "", "max_completion_tokens"},
		{model.Entry{Provider: "openai", Model: "gpt-5.4"}, agent.ModeTools, "https://api.openai.com", "/v1/chat/completions", "none", "max_completion_tokens"},
		{model.Entry{Provider: "openai", Model: "gpt-6-sol", ReasoningEffort: "low"}, agent.ModeTools, "https://api.openai.com", "/v1/chat/completions", "low", "max_completion_tokens"},
		{model.Entry{Provider: "openai", Model: "gpt-6-sol"}, agent.ModeText, "https://api.openai.com", "/v1/chat/completions", "", "max_completion_tokens"},
		{model.Entry{Provider: "anthropic", Model: "claude-opus-5-5"}, agent.ModeTools, "https://api.anthropic.com", "/v1/messages", "", "max_tokens"},
	} {
		u := serve(t, answer{body: good(c.entry.Provider)})
		c.entry.Name, c.entry.APIKeyEnv, c.entry.MaxTokens = "m", "THE_KEY", 700
		s, err := model.NewSet(config(c.entry), env, model.WithTransport(own{u}))
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Open("m", solve.Experiment{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.(agent.ModeSetter).InMode(c.mode).Query(t.Context(), history()[:2]); err != nil {
			t.Fatal(err)
		}
		body := u.sent(t, 0)
		effort, _ := body["reasoning_effort"].(string)
		if effort != c.effort || body[c.size] != 700.0 || u.requests[0].URL.Path != c.path || u.requests[0].Header.Get("X-Meant-For") != c.host {
			t.Errorf("%+v: %v at %s of %s", c, body, u.requests[0].URL.Path, u.requests[0].Header.Get("X-Meant-For"))
		}
	}
}

func TestOpenAIReasoningEffort(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{body: chat})
	m := open(t, model.OpenAI, u, func(e *model.Entry) { e.ReasoningEffort = "low" }, solve.Experiment{})
	if _, err := m.Query(t.Context(), history()); err != nil || u.sent(t, 0)["reasoning_effort"] != "low" {
		t.Error(err, u.sent(t, 0)["reasoning_effort"])
	}
}

// A refusal is text like any other: the loop sees a reply without a command.
func TestOpenAIRefusal(t *testing.T) {
	t.Parallel()
	body := `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":null,"refusal":"No."}}]}`
	m := open(t, model.OpenAI, serve(t, answer{body: body}), nil, solve.Experiment{})
	if got, err := m.Query(t.Context(), history()); err != nil || got.Message.Content != "No." {
		t.Error(got, err)
	}
}
