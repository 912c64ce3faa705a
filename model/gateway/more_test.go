package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
)

// Counting tokens is no call: anthropic does it, for others it is estimated, and not too often.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	const count = "/v1/messages/count_tokens"
	w := newWorld(t, model.Anthropic, func(s *setting) { s.x.Temperature = ptr(0.5) }, plain(`{"input_tokens": 14}`), failed(400, errorBody(agent.APIMessages, "invalid_request_error", "no")))
	got := w.ask(count+"?beta=true", `{"model":"x", "messages":[],"tools":[{"type":"web_search_20250305"}]}`, "Anthropic-Beta", "token-counting-2024-11-01")
	url, head, body := w.up.last()
	if got.status != 200 || got.body != `{"input_tokens": 14}` || url != count+"?beta=true" || body != `{"model":"the-model", "messages":[]}` || head.Get("X-Api-Key") != key {
		t.Errorf("%+v: %s %s", got, url, body)
	}
	if got := w.ask(count, `{}`); got.status != 400 {
		t.Errorf("%+v", got)
	}
	if len(w.books.worst) != 0 || w.session.Usage().Calls != 0 {
		t.Error("counting is booked")
	}
	local := newWorld(t, model.OpenAI, func(s *setting) { s.entry.APIs = []string{agent.APIMessages} }, plain(`{}`))
	limited := 0
	for range 70 {
		switch got := local.ask(count, `{"model":"the-model","a":"`+strings.Repeat("b", 400)+`"}`); got.status {
		case 200:
			if got.body != `{"input_tokens":107}` {
				t.Error(got.body)
			}
		case 429:
			got.wrong(t, agent.APIMessages)
			limited++
		default:
			t.Errorf("%+v", got)
		}
	}
	if limited != 10 || local.up.calls() != 0 {
		t.Errorf("%d were too many, %d went upstream", limited, local.up.calls())
	}
	local.shut()
	if got := local.ask(count, `{}`); got.status != 401 {
		t.Errorf("%+v", got)
	}
}

// A server that speaks messages beside chat is asked by messages where it says so.
func TestMessagesOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, func(s *setting) { s.entry.APIs = []string{agent.APIChat, agent.APIMessages} }, plain(claudBody))
	if got := w.ask(path(agent.APIMessages), `{}`); got.status != 200 || !slices.Equal(w.session.APIs, []string{agent.APIChat, agent.APIMessages}) {
		t.Errorf("%+v, %v", got, w.session.APIs)
	}
	if url, head, _ := w.up.last(); url != "/v1/messages" || head.Get("Authorization") != "Bearer "+key || head.Get("Anthropic-Version") == "" {
		t.Errorf("%s %v", url, head)
	}
}

// Records hold what was said, cut, and no secret.
func TestRecords(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, streaming := range []bool{false, true} {
			a, want := plain(whole(api)), whole(api)
			if streaming {
				a, want = stream(events(api)...), strings.Join(events(api), "")
			}
			var token string
			w := newWorld(t, provider, func(s *setting) { s.cfg.Record = true }, a)
			token = w.session.Token
			got := w.ask(path(api), fmt.Sprintf(`{"model":"the-model","stream":%v,"user":"%s %s \"Authorization: Bearer abcdefgh\" x-api-key: hijklmno"}`, streaming, token, key))
			call := w.books.wait(t, 1)
			ended := strings.LastIndex(strings.TrimRight(want, "\n"), "\n\n") // the last event comes after the books are closed
			if !streaming {
				ended = len(want)
			}
			if len(call.Response) < ended || !strings.HasPrefix(want, string(call.Response)) || got.body != want {
				t.Errorf("answer recorded as %q", call.Response)
			}
			if !strings.Contains(string(call.Request), `[run token] [key] \"Authorization: Bearer [removed]\" x-api-key: [removed]`) {
				t.Errorf("request recorded as %q", call.Request)
			}
			w.clean(string(call.Request), string(call.Response))
		}
	})
	w := newWorld(t, model.OpenAI, func(s *setting) { s.cfg.Record, s.cfg.RecordKiB = true, 1 }, plain(chatBody))
	w.ask(path(agent.APIChat), `{"model":"the-model","user":"`+strings.Repeat("a", 985)+key+strings.Repeat("b", 9000)+`"}`)
	if call := w.books.wait(t, 1); len(call.Request) != 1024 || strings.Contains(string(call.Request), "sk-") {
		t.Errorf("%d bytes: %s", len(call.Request), call.Request)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	problems := func(c gateway.Config) []string {
		var out []string
		c.Validate(func(key, problem string) { out = append(out, key+": "+problem) })
		return out
	}
	if got := problems(gateway.DefaultConfig()); len(got) != 0 {
		t.Error(got)
	}
	want := []string{
		"dir: is missing: where the gateway keeps its secret and sockets",
		`address: "0.0.0.0:1" is not host:port with an address of loopback, like 127.0.0.1:0 (port 0 takes a free one)`,
		"max_request_mib: must be 1 to 1024", "idle_timeout: must be at least 1ms", "record_kib: must be 1 to 32768",
	}
	if diff := cmp.Diff(want, problems(gateway.Config{Address: "0.0.0.0:1"})); diff != "" {
		t.Error(diff)
	}
	for _, good := range []string{"127.0.0.2:80", "[::1]:0"} {
		c := gateway.DefaultConfig()
		if c.Address = good; len(problems(c)) != 0 {
			t.Error(good, problems(c))
		}
	}
}
