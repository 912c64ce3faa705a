package gateway_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// Answers as the providers give them, with more than any client knows.
const (
	chatBody  = ` {"id":"c1","object":"chat.completion","created":1,"model":"the-model","new":{"é":[1.0,1e400]},"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi \u00e9","refusal":null}}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":40}}}` + "\n"
	replyBody = `{"id":"r1","object":"response","created_at":1,"status":"completed","model":"the-model","output":[{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":10,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":110}}`
	claudBody = `{"id":"msg_1","type":"message","role":"assistant","model":"the-model","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":60,"cache_creation_input_tokens":0,"cache_read_input_tokens":40,"output_tokens":10}}`

	chatDelta = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"the-model","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello wo"},"finish_reason":null}],"usage":null}` + "\n\n"
	chatStop  = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"the-model","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}` + "\n\n"
	chatUsage = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"the-model","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":40}}}` + "\n\n"
	chatDone  = "data: [DONE]\n\n"

	replyDelta = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hello wo\",\"sequence_number\":1}\n\n"
	replyDone  = "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":" + replyBody + "}\n\n"

	claudStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"the-model\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":60,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":40,\"output_tokens\":1}}}\n\n"
	claudBlock = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n"
	claudDelta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello wo\"}}\n\n"
	claudEnd   = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":10}}\n\n"
	claudStop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// paid is what each of them costs: 60 fresh tokens at 100, 40 cached at 10, 10 of the reply at 1000.
func paid() solve.Usage {
	return solve.Usage{Calls: 1, Input: 100, CachedRead: 40, Output: 10, Cost: 60*100 + 40*10 + 10*1000}
}

// kinds are the three APIs with a provider that offers each.
func kinds(t *testing.T, test func(t *testing.T, api, provider string)) {
	for _, api := range []string{agent.APIChat, agent.APIResponses, agent.APIMessages} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			provider := model.OpenAI
			if api == agent.APIMessages {
				provider = model.Anthropic
			}
			test(t, api, provider)
		})
	}
}

func whole(api string) string {
	return map[string]string{agent.APIChat: chatBody, agent.APIResponses: replyBody, agent.APIMessages: claudBody}[api]
}

// events are a whole stream; the chat's without the usage.
func events(api string) []string {
	return map[string][]string{
		agent.APIChat: {chatDelta, chatStop, chatDone}, agent.APIResponses: {replyDelta, replyDone},
		agent.APIMessages: {claudStart, claudBlock, claudDelta, claudEnd, claudStop},
	}[api]
}

func TestAnswersPassByteForByte(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		w := newWorld(t, provider, nil, answer{parts: []string{whole(api)}, header: map[string]string{
			"X-Request-Id": "req-1", "Set-Cookie": "a=b", "Openai-Organization": "acme", "Anthropic-Organization-Id": "acme", "X-Ratelimit-Limit-Tokens": "9",
		}})
		got := w.ask(path(api)+"?beta=true", `{"model":"x","max_tokens":50}`, "Anthropic-Beta", "a-1,mcp-client-2025-11-20, b-2", "Anthropic-Beta", "files-api-2025-04-14",
			"Anthropic-Version", "2023-06-01", "User-Agent", "cli/1", "Cookie", "c=d", "X-Stainless-Os", "Linux", "Openai-Organization", "org", "X-Forwarded-For", "1.2.3.4", "Idempotency-Key", "k")
		if got.body != whole(api) || got.status != 200 {
			t.Errorf("%d %q", got.status, got.body)
		}
		if got.head.Get("X-Request-Id") != "req-1" || got.head.Get("Set-Cookie")+got.head.Get("Openai-Organization")+got.head.Get("Anthropic-Organization-Id")+got.head.Get("X-Ratelimit-Limit-Tokens") != "" {
			t.Errorf("headers of the answer: %v", got.head)
		}
		call := w.books.wait(t, 1)
		if diff := cmp.Diff(paid(), call.Usage); diff != "" || call.Estimated || call.API != api || call.Status != 200 || call.Err != nil || call.Request != nil || call.At.IsZero() {
			t.Errorf("%+v %s", call, diff)
		}
		if w.session.Usage() != paid() || w.session.LastError() != nil {
			t.Errorf("%+v, %v", w.session.Usage(), w.session.LastError())
		}
		url, head, _ := w.up.last()
		want := map[string]string{"Authorization": "Bearer " + key, "X-Api-Key": "", "Anthropic-Beta": "a-1,b-2", "Anthropic-Version": "2023-06-01", "User-Agent": "cli/1", "Accept-Encoding": "identity"}
		target := "/v1" + strings.TrimPrefix(path(api), "/v1")
		if provider == model.Anthropic {
			want["Authorization"], want["X-Api-Key"] = "", key
			target += "?beta=true"
		}
		for _, name := range []string{"Cookie", "X-Stainless-Os", "Openai-Organization", "X-Forwarded-For", "Idempotency-Key"} {
			want[name] = ""
		}
		for name, value := range want {
			if got := head.Get(name); got != value {
				t.Errorf("%s: %q went upstream, want %q", name, got, value)
			}
		}
		if url != target {
			t.Errorf("asked %s, want %s", url, target)
		}
		w.clean(got.body)
	})
}

func TestStreamsPassByteForByte(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		parts := append([]string{": comment\n\n"}, events(api)...)
		sent := append([]string{}, parts...)
		if api == agent.APIChat { // the usage that only the gateway wanted
			sent = append(parts[:len(parts)-1:len(parts)-1], chatUsage, chatDone)
		}
		w := newWorld(t, provider, nil, stream(sent...))
		got := w.ask(path(api), `{"model":"x","stream":true}`)
		if diff := cmp.Diff(strings.Join(parts, ""), got.body); diff != "" || got.head.Get("Content-Type") != "text/event-stream" {
			t.Error(got.head, diff)
		}
		call := w.books.wait(t, 1)
		if diff := cmp.Diff(paid(), call.Usage); diff != "" || call.Estimated || call.Err != nil {
			t.Errorf("%+v %s", call, diff)
		}
	})
}

// A client that asks for the usage of its stream gets it, and its own options stay.
func TestUsageOfAChatStream(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"model":"x","stream":true}`:                                                          `{"model":"the-model","stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"x","stream":true,"stream_options":null}`:                                    `{"model":"the-model","stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"x","stream":true,"stream_options":{ "include_obfuscation":false }}`:         `{"model":"the-model","stream":true,"stream_options":{ "include_obfuscation":false ,"include_usage":true}}`,
		`{"model":"x","stream":true,"stream_options":{"include_usage":false}}`:                 `{"model":"the-model","stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"x","stream":true,"stream_options":{"include_usage":true}}`:                  `{"model":"the-model","stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"the-model","stream":true,"stream_options":{"include_usage" : true, "a":0}}`: `{"model":"the-model","stream":true,"stream_options":{"include_usage" : true, "a":0}}`,
	} {
		w := newWorld(t, model.OpenAI, nil, stream(chatDelta, chatStop, chatUsage, chatDone))
		got := w.ask(path(agent.APIChat), in)
		_, _, sent := w.up.last()
		asked := strings.Contains(strings.ReplaceAll(in, " ", ""), `"include_usage":true`)
		if sent != want || strings.Contains(got.body, chatUsage) != asked || !strings.HasSuffix(got.body, chatDone) {
			t.Errorf("%s: sent %s, got %s", in, sent, got.body)
		}
	}
}

// However the bytes of a stream arrive, events and numbers are the same.
func TestStreamsInPieces(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		text := strings.Join(events(api), "")
		if api == agent.APIChat {
			text = chatDelta + chatStop + chatUsage + chatDone
		}
		want := strings.ReplaceAll(text, chatUsage, "")
		for _, ends := range []string{"\n", "\r\n"} {
			for _, size := range []int{1, 7, 100_000} {
				var parts []string
				for rest := strings.ReplaceAll(text, "\n", ends); rest != ""; {
					n := min(size, len(rest))
					parts, rest = append(parts, rest[:n]), rest[n:]
				}
				w := newWorld(t, provider, nil, stream(parts...))
				got := w.ask(path(api), `{"stream":true}`)
				if diff := cmp.Diff(strings.ReplaceAll(want, "\n", ends), got.body); diff != "" {
					t.Errorf("%q, %d: %s", ends, size, diff)
				}
				if call := w.books.wait(t, 1); call.Usage != paid() || call.Estimated {
					t.Errorf("%q, %d: %+v", ends, size, call)
				}
			}
		}
	})
}

// What was written to a cache that keeps for an hour costs more, and a call that compacted
// its context is billed with all of its parts.
func TestDearerTokens(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]solve.Usage{
		`{"input_tokens":1,"cache_creation_input_tokens":100,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":0}}`: {Calls: 1, Input: 101, Output: 1, Cost: 100 + 100*125 + 1000},
		`{"input_tokens":1,"cache_creation_input_tokens":100,"output_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":100}}`:                               {Calls: 1, Input: 101, Output: 1, Cost: 100 + 100*200 + 1000},
		`{"input_tokens":1,"output_tokens":1,"iterations":[{"type":"compaction","input_tokens":9,"output_tokens":2},{"type":"message","input_tokens":1,"output_tokens":1}]}`: {
			Calls: 1, Input: 10, Output: 3, Cost: 10*100 + 3*1000},
		`{"input_tokens":-5,"output_tokens":"many"}`: {Calls: 1, Input: 6, Output: 1, Cost: 6*100 + 1000}, // zeros are estimated
	} {
		w := newWorld(t, model.Anthropic, nil, plain(`{"type":"message","content":[],"usage":`+usage+`}`))
		w.ask(path(agent.APIMessages), `{}`)
		if diff := cmp.Diff(want, w.books.wait(t, 1).Usage); diff != "" {
			t.Errorf("%s: %s", usage, diff)
		}
	}
}

// The bound that is asked for before a call is never less than what comes.
func TestWorst(t *testing.T) {
	t.Parallel()
	body := `{"model":"the-model","max_tokens":50}`
	w := newWorld(t, model.Anthropic, nil, plain(claudBody))
	w.ask(path(agent.APIMessages), body)
	w.books.wait(t, 1)
	bytes := int64(len(body))
	if got, want := w.books.worst[0], solve.Money((bytes+(bytes*6+5)/10)*125+50*1000); got < want-125 || got > want+125 {
		t.Errorf("%d, want about %d", got, want)
	}
	w.ask(path(agent.APIMessages), `{"model":"the-model"}`)
	w.books.wait(t, 2)
	if got := w.books.worst[1]; got < 128_000*1000 {
		t.Errorf("without a limit %d", got)
	}
}

// Errors of the model inside of an answer that is none by its status.
func TestErrorsInsideAnswers(t *testing.T) {
	t.Parallel()
	const overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	for _, c := range []struct {
		name, api, provider string
		stream              string
		usage               solve.Usage
		estimated           bool
	}{
		{"at once", agent.APIMessages, model.Anthropic, overloaded, solve.Usage{}, false},
		{"in the middle", agent.APIMessages, model.Anthropic, claudStart + claudDelta + overloaded, solve.Usage{Calls: 1, Input: 100, CachedRead: 40, Output: 2, Cost: 60*100 + 40*10 + 2*1000}, true},
		{"chat", agent.APIChat, model.OpenAI, "data: {\"error\":{\"message\":\"oops\"}}\n\n", solve.Usage{}, false},
		{"failed", agent.APIResponses, model.OpenAI, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"oops\"},\"usage\":null}}\n\n", solve.Usage{}, false},
		{"failed with a bill", agent.APIResponses, model.OpenAI, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"oops\"},\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n", solve.Usage{Calls: 1, Input: 5, Output: 1, Cost: 1500}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.provider, nil, stream(c.stream))
			if got := w.ask(path(c.api), `{"stream":true}`); got.body != c.stream {
				t.Errorf("%s", got.body)
			}
			call := w.books.wait(t, 1)
			if diff := cmp.Diff(c.usage, call.Usage); diff != "" || call.Estimated != c.estimated {
				t.Errorf("%+v %s", call, diff)
			}
			if _, ok := errors.AsType[agent.ModelError](w.session.LastError()); !ok || call.Err == nil {
				t.Errorf("trouble %v, call's %v", w.session.LastError(), call.Err)
			}
		})
	}
}

// A stream may end without its last word, if all of the reply was there.
func TestStreamsWithoutLastWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		api, provider, stream string
		estimated             bool
	}{
		{agent.APIChat, model.OpenAI, chatDelta + chatStop + chatUsage, false},
		{agent.APIChat, model.OpenAI, chatDelta + chatStop, true},
		{agent.APIChat, model.OpenAI, chatDelta + chatStop + strings.TrimRight(chatUsage, "\n") + "\n\ndata: [DONE]", false},
		{agent.APIMessages, model.Anthropic, claudStart + claudDelta + claudEnd, false},
		{agent.APIMessages, model.Anthropic, claudStart + claudDelta + claudEnd + strings.TrimRight(claudStop, "\n"), false},
	} {
		w := newWorld(t, c.provider, nil, stream(c.stream))
		got := w.ask(path(c.api), `{"stream":true}`)
		if want := strings.ReplaceAll(c.stream, strings.TrimRight(chatUsage, "\n")+"\n\n", ""); got.body != want {
			t.Errorf("got %q, want %q", got.body, want)
		}
		if call := w.books.wait(t, 1); call.Estimated != c.estimated || call.Err != nil || call.Usage.Calls != 1 {
			t.Errorf("%q: %+v", c.stream, call)
		}
	}
}

// TestEstimateCountsEveryFieldOfAReply: where the provider tells no usage, all that the model
// wrote is estimated at four bytes a token, whatever the field that it stands in.
func TestEstimateCountsEveryFieldOfAReply(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("No. ", 10) // 10 tokens
	for _, c := range []struct{ api, provider, format string }{
		{agent.APIChat, model.OpenAI, `{"choices":[{"index":0,"delta":{"content":%q}}]}`},
		{agent.APIChat, model.OpenAI, `{"choices":[{"index":0,"delta":{"refusal":%q}}]}`},
		{agent.APIChat, model.OpenAI, `{"choices":[{"index":0,"delta":{"reasoning_content":%q,"reasoning":"No."}}]}`},
		{agent.APIChat, model.OpenAI, `{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":%q}}]}}]}`},
		{agent.APIChat, model.OpenAI, `{"choices":[{"index":0,"delta":{"tool_calls":[{"custom":{"input":%q}}]}}]}`},
		{agent.APIResponses, model.OpenAI, `{"type":"response.refusal.delta","delta":%q}`},
		{agent.APIMessages, model.Anthropic, `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":%q}}`},
		{agent.APIMessages, model.Anthropic, `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":%q}}`},
	} {
		w := newWorld(t, c.provider, nil, stream("data: "+fmt.Sprintf(c.format, words)+"\n\n"))
		w.ask(path(c.api), `{"model":"the-model","stream":true}`)
		if call := w.books.wait(t, 1); !call.Estimated || call.Usage.Output != 10 {
			t.Errorf("%s: %+v", c.format, call.Usage)
		}
	}
}
