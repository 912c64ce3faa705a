package gateway_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

func ptr(f float64) *float64 { return &f }

// What a request says beside what the experiment decides arrives byte for byte.
func TestBodiesPassByteForByte(t *testing.T) {
	t.Parallel()
	odd := ` "\\" : "\\\\" , "unknown" : { "b" :1.0 ,"a":[ 1e400, 123456789012345678901234567890,-0 ] } ,	"text":"\u00e9é \ud83d\ude00 \/ <&>\\\"}" , "z" : [ ] `
	for _, c := range []struct {
		name, provider, api string
		change              func(*setting)
		in, want            string
	}{
		{"chat", model.OpenAI, agent.APIChat, nil, "\n{" + odd + `, "model" : "x" , "messages":[ {"role":"user","content":"é {\"model\":\"y\"}"} ]}` + "\n\n",
			"\n{" + odd + `, "model" : "the-model" , "messages":[ {"role":"user","content":"é {\"model\":\"y\"}"} ]}` + "\n\n"},
		{"already right", model.OpenAI, agent.APIChat, nil, `{"model":"the-model",` + odd + `}`, `{"model":"the-model",` + odd + `}`},
		{"no model", model.OpenAI, agent.APIChat, nil, `{ "a":1 }`, `{ "a":1 ,"model":"the-model"}`},
		{"empty", model.OpenAI, agent.APIChat, nil, `{ }`, `{"model":"the-model"}`},
		{"its temperature", model.OpenAI, agent.APIChat, nil, `{"model":"x","temperature":0.7,"a":1}`, `{"model":"the-model","a":1}`},
		{"the experiment's temperature", model.OpenAI, agent.APIChat, func(s *setting) { s.x.Temperature = ptr(0.2) },
			`{"temperature" : 0.7,"model":"x"}`, `{"temperature" : 0.2,"model":"the-model"}`},
		{"a temperature where none was", model.Anthropic, agent.APIMessages, func(s *setting) { s.x.Temperature = ptr(0) },
			`{"model":"x","max_tokens":5}`, `{"model":"the-model","max_tokens":5,"temperature":0}`},
		{"a model without temperature", model.OpenAI, agent.APIChat, func(s *setting) { s.entry.Model, s.x.Temperature = "gpt-5", ptr(0.2) },
			`{"model":"x","top_p":1,"temperature":1,"presence_penalty":0,"logprobs":false,"stop":["a"],"seed":1}`, `{"model":"gpt-5","seed":1}`},
		{"newer anthropic", model.Anthropic, agent.APIMessages, func(s *setting) { s.entry.Model = "claude-opus-4-7" },
			`{"model":"x","top_k":3,"top_p":0.5,"temperature":1,"stop_sequences":["a"],"max_tokens":9}`, `{"model":"claude-opus-4-7","stop_sequences":["a"],"max_tokens":9}`},
		{"one of temperature and top_p", model.Anthropic, agent.APIMessages, func(s *setting) { s.x.Temperature = ptr(0.5) },
			`{"model":"x","top_p":0.5,"max_tokens":9}`, `{"model":"the-model","max_tokens":9,"temperature":0.5}`},
		{"thinking or temperature", model.Anthropic, agent.APIMessages, func(s *setting) { s.x.Temperature = ptr(0.5) },
			`{"model":"x","thinking":{"type":"enabled","budget_tokens":2000},"context_management":{"edits":[]},"temperature":1}`, `{"model":"the-model","temperature":0.5}`},
		{"thinking and no temperature", model.Anthropic, agent.APIMessages, nil,
			`{"model":"x","thinking":{ "type":"enabled", "budget_tokens":2000 },"max_tokens":9000}`, `{"model":"the-model","thinking":{ "type":"enabled", "budget_tokens":2000 },"max_tokens":9000}`},
		{"thinking within the limit", model.Anthropic, agent.APIMessages, func(s *setting) { s.entry.MaxTokens = 4000 },
			`{"model":"x","thinking":{ "type":"enabled", "budget_tokens":31999 },"max_tokens":32000}`, `{"model":"the-model","thinking":{ "type":"enabled", "budget_tokens":3999 },"max_tokens":4000}`},
		{"no room to think", model.Anthropic, agent.APIMessages, func(s *setting) { s.entry.MaxTokens = 500 },
			`{"model":"x","thinking":{"type":"enabled","budget_tokens":31999},"max_tokens":32000}`, `{"model":"the-model","max_tokens":500}`},
		{"cache markers", model.Anthropic, agent.APIMessages, nil,
			`{"model":"x","max_tokens":1,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[]}`,
			`{"model":"the-model","max_tokens":1,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[]}`},
		{"empty servers", model.Anthropic, agent.APIMessages, nil, `{"model":"x","mcp_servers":[ ],"container":null,"speed":"fast","service_tier":"auto","max_tokens":1}`, `{"model":"the-model","max_tokens":1}`},
		{"reply limit lowered", model.OpenAI, agent.APIChat, func(s *setting) { s.entry.MaxTokens = 100 }, `{"model":"x","max_tokens":4096}`, `{"model":"the-model","max_tokens":100}`},
		{"reply limit kept", model.OpenAI, agent.APIChat, func(s *setting) { s.entry.MaxTokens = 100 }, `{"model":"x","max_completion_tokens":50}`, `{"model":"the-model","max_completion_tokens":50}`},
		{"reply limit added", model.OpenAI, agent.APIChat, func(s *setting) { s.entry.MaxTokens = 100 }, `{"model":"x"}`, `{"model":"the-model","max_tokens":100}`},
		{"reply limit of responses", model.OpenAI, agent.APIResponses, func(s *setting) { s.entry.MaxTokens = 100 }, `{"model":"x","store":false}`, `{"model":"the-model","store":false,"max_output_tokens":100}`},
		{"effort", model.OpenAI, agent.APIChat, func(s *setting) { s.entry.ReasoningEffort = "low" }, `{"model":"x","reasoning_effort":"high"}`, `{"model":"the-model","reasoning_effort":"low"}`},
		{"effort of responses", model.OpenAI, agent.APIResponses, func(s *setting) { s.entry.ReasoningEffort = "low" },
			`{"model":"x","reasoning":{ "effort":"high", "summary":"auto" },"store":false}`, `{"model":"the-model","reasoning":{ "effort":"low", "summary":"auto" },"store":false}`},
		{"another price, network or memory", model.OpenAI, agent.APIChat, nil,
			`{"model":"x","service_tier":"priority","store":true,"metadata":{"a":"b"},"web_search_options":{},"plugins":[{"id":"web"}],"models":["y"],"user":"u"}`, `{"model":"the-model","user":"u"}`},
		{"nothing is stored", model.OpenAI, agent.APIResponses, nil, `{"model":"x","store":true,"previous_response_id":null,"background":false}`, `{"model":"the-model","store":false,"previous_response_id":null,"background":false}`},
		{"as codex asks", model.OpenAI, agent.APIResponses, nil,
			`{"model":"x","tools":[{"type":"function","name":"shell"}, {"type":"web_search","external_web_access":false} ,{"type":"custom","name":"apply_patch"}],"tool_choice":"auto","store":false,"stream":true}`,
			`{"model":"the-model","tools":[{"type":"function","name":"shell"},{"type":"custom","name":"apply_patch"}],"tool_choice":"auto","store":false,"stream":true}`},
		{"only hosted tools", model.Anthropic, agent.APIMessages, nil,
			`{"model":"x","tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}],"tool_choice":{"type":"tool","name":"web_search"},"max_tokens":1}`, `{"model":"the-model","max_tokens":1}`},
		{"a choice that is gone", model.Anthropic, agent.APIMessages, nil,
			`{"model":"x","tools":[{"name":"Bash","input_schema":{"type":"web_search"}},{"type":"web_fetch_20260318","name":"web_fetch"}],"tool_choice":{"type":"tool","name":"web_fetch"}}`,
			`{"model":"the-model","tools":[{"name":"Bash","input_schema":{"type":"web_search"}}]}`},
		{"tools of the agent", model.Anthropic, agent.APIMessages, nil,
			`{"model":"x","tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728"},{"type":"custom"},{"type":"memory_20250818"},{"type":"computer_20251124"},{"type":"tool_search_tool_regex_20251119"}]}`,
			`{"model":"the-model","tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728"},{"type":"custom"},{"type":"memory_20250818"},{"type":"computer_20251124"},{"type":"tool_search_tool_regex_20251119"}]}`},
		{"tools in groups, shells", model.OpenAI, agent.APIResponses, nil,
			`{"model":"x","store":false,"tools":[{"type":"namespace","name":"n","tools":[{"type":"function"},{"type":"mcp"}]},{"type":"shell","environment":{"type":"container_auto"}},{"type":"shell"},{"type":"local_shell"},{"type":"apply_patch"}]}`,
			`{"model":"the-model","store":false,"tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]},{"type":"shell"},{"type":"local_shell"},{"type":"apply_patch"}]}`},
		{"pictures in the request", model.OpenAI, agent.APIChat, nil,
			`{"model":"x","messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`, `{"model":"the-model","messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`},
		{"what a model gave its tool", model.Anthropic, agent.APIMessages, nil,
			`{"model":"x","messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{"type":"url","url":"http://h","file_id":"f","image_url":"http://h"}}]}]}`,
			`{"model":"the-model","messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{"type":"url","url":"http://h","file_id":"f","image_url":"http://h"}}]}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.provider, c.change, failed(400, `{"error":{"message":"seen","type":"x"}}`))
			w.ask(path(c.api), c.in)
			if _, _, got := w.up.last(); got != c.want {
				t.Errorf("upstream got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// At the providers' own servers requests follow what their models take.
func TestProvidersOwnServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, model, api, in, want, url string
		x                                   solve.Experiment
	}{
		{model.OpenAI, "gpt-5", agent.APIChat, `{"model":"x","max_tokens":7}`, `{"model":"gpt-5","max_completion_tokens":7}`, "https://api.openai.com/v1/chat/completions", solve.Experiment{}},
		{model.OpenAI, "gpt-5", agent.APIChat, `{"model":"x","max_tokens":7,"max_completion_tokens":8}`, `{"model":"gpt-5","max_completion_tokens":8}`, "https://api.openai.com/v1/chat/completions", solve.Experiment{}},
		{model.OpenAI, "gpt-5.4", agent.APIChat, `{"model":"x","tools":[{"type":"function"}]}`, `{"model":"gpt-5.4","tools":[{"type":"function"}],"reasoning_effort":"none"}`, "https://api.openai.com/v1/chat/completions", solve.Experiment{}},
		{model.OpenAI, "gpt-5", agent.APIResponses, `{"model":"x","include":["a"]}`, `{"model":"gpt-5","include":["a","reasoning.encrypted_content"],"store":false}`, "https://api.openai.com/v1/responses", solve.Experiment{}},
		{model.OpenAI, "gpt-5", agent.APIResponses, `{"model":"x","store":false}`, `{"model":"gpt-5","store":false}`, "https://api.openai.com/v1/responses", solve.Experiment{}},
		{model.OpenAI, "gpt-4.1", agent.APIResponses, `{"model":"x","reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"],"store":false}`, `{"model":"gpt-4.1","include":[],"store":false}`, "https://api.openai.com/v1/responses", solve.Experiment{}},
		{model.Anthropic, "claude-opus-5-5", agent.APIMessages, `{"model":"x","temperature":1}`, `{"model":"claude-opus-5-5"}`, "https://api.anthropic.com/v1/messages?beta=true", solve.Experiment{Temperature: ptr(0.3)}},
	} {
		t.Run(c.model+" "+c.api+" "+c.in, func(t *testing.T) {
			t.Parallel()
			up := &canned{kind: "application/json", body: []byte(`{}`)}
			w := newWorld(t, c.provider, func(s *setting) {
				s.entry.Model, s.x.Temperature, s.opts = c.model, c.x.Temperature, []model.Option{model.WithTransport(up)}
			})
			w.ask(path(c.api)+"?beta=true", c.in)
			if diff := cmp.Diff([]string{c.want, c.url}, []string{string(up.sent), up.url}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What would give a run a network, a memory or a price of its own is refused, and the
// run's record says why.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, api, body, want string }{
		{"no JSON", agent.APIChat, `{"model":`, "no valid JSON"},
		{"two values", agent.APIChat, `{} {}`, "no valid JSON"},
		{"a list", agent.APIMessages, `[]`, "a JSON object"},
		{"empty", agent.APIResponses, ``, "no valid JSON"},
		{"a member twice", agent.APIChat, `{"model":"a","model":"b"}`, `"model" twice`},
		{"a member twice, hidden", agent.APIChat, `{"model":"a","mode\u006c":"b"}`, `"model" twice`},
		{"another case", agent.APIChat, `{"Model":"a"}`, `write model`},
		{"another case of the temperature", agent.APIMessages, `{"TEMPERATURE":1}`, `write temperature`},
		{"a letter that folds", agent.APIResponses, `{"\u017ftore":true}`, `write store`},
		{"several replies", agent.APIChat, `{"n":2}`, "n must be 1"},
		{"several replies, hidden", agent.APIChat, `{"n":1e1}`, "n must be 1"},
		{"in the background", agent.APIResponses, `{"background":true}`, "background"},
		{"an earlier answer", agent.APIResponses, `{"previous_response_id":"resp_1"}`, "previous_response_id"},
		{"a conversation", agent.APIResponses, `{"conversation":{"id":"c"}}`, "conversation"},
		{"a stored prompt", agent.APIResponses, `{"prompt":{"id":"p"}}`, "prompt"},
		{"a stored item", agent.APIResponses, `{"input":[{"type":"item_reference","id":"i"}]}`, "stored at the provider"},
		{"a container", agent.APIMessages, `{"container":"c"}`, "container"},
		{"tool servers", agent.APIMessages, `{"mcp_servers":[{"url":"https://h"}]}`, "mcp_servers"},
		{"another model", agent.APIMessages, `{"fallbacks":[{"model":"y"}]}`, "fallbacks"},
		{"an unknown tool", agent.APIChat, `{"tools":[{"type":"teleport"}]}`, `"teleport"`},
		{"an unknown tool of anthropic", agent.APIMessages, `{"tools":[{"type":"bash_tool"}]}`, `"bash_tool"`},
		{"a tool with two types", agent.APIResponses, `{"tools":[{"type":"function","type":"mcp"}]}`, "two members"},
		{"a tool with two cases", agent.APIResponses, `{"tools":[{"type":"function","Type":"mcp"}]}`, "write type"},
		{"tools in messages", agent.APIResponses, `{"input":[{"type":"additional_tools","tools":[{"type":"web_search"}]}]}`, "runs at the provider"},
		{"a picture elsewhere", agent.APIChat, `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://h/x?secret"}}]}]}`, "by its address"},
		{"a picture elsewhere, hidden", agent.APIChat, `{"messages":[{"content":[{"type":"image_url","image\u005furl":{"\u0075rl":"https://h"}}]}]}`, "by its address"},
		{"a picture elsewhere, responses", agent.APIResponses, `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://h"}]}]}`, "by its address"},
		{"a file elsewhere", agent.APIResponses, `{"input":[{"content":[{"type":"input_file","file_url":"https://h"}]}]}`, "by its address"},
		{"a document elsewhere", agent.APIMessages, `{"messages":[{"content":[{"type":"document","source":{"url":"https://h","type":"url"}}]}]}`, "by its address"},
		{"a document elsewhere, in a result", agent.APIMessages, `{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"https://h"}}]}]}]}`, "by its address"},
		{"an uploaded file", agent.APIMessages, `{"messages":[{"content":[{"type":"container_upload","file_id":"f"}]}]}`, "lies at the provider"},
		{"an uploaded file, chat", agent.APIChat, `{"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}`, "lies at the provider"},
		{"a stream of words", agent.APIChat, `{"stream":"yes"}`, "stream must be"},
		{"strange options", agent.APIChat, `{"stream":true,"stream_options":[]}`, "stream_options"},
		{"a reply of half a token", agent.APIChat, `{"max_tokens":0.5}`, "whole number"},
		{"a reply of less than nothing", agent.APIMessages, `{"max_tokens":-1}`, "whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provider := model.OpenAI
			if c.api == agent.APIMessages {
				provider = model.Anthropic
			}
			w := newWorld(t, provider, nil, plain(`{}`))
			got := w.ask(path(c.api), c.body)
			kind, message := got.wrong(t, c.api)
			if got.status != 400 || kind != "invalid_request_error" || !strings.Contains(message, c.want) {
				t.Errorf("%d %s: %s, want %q", got.status, kind, message, c.want)
			}
			if w.up.calls() != 0 || len(w.books.settled()) != 0 || len(w.books.worst) != 0 {
				t.Error("it was passed on or booked")
			}
			trouble, ok := errors.AsType[agent.ModelError](w.session.LastError())
			if !ok || trouble.ExitStatus() != agent.StatusBadRequest || !strings.Contains(trouble.Public(), c.want) {
				t.Errorf("trouble: %v", w.session.LastError())
			}
		})
	}
}
