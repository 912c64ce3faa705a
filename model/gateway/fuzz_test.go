package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/solve"
)

// canned is a provider in this process that keeps what it was sent.
type canned struct {
	kind string
	body []byte
	sent []byte
	url  string // where it was sent
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent, _ = io.ReadAll(r.Body)
	_ = r.Body.Close()
	c.url = r.URL.String()
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: int64(len(c.body)),
	}, nil
}

// passage is a gateway in front of a canned provider.
type passage struct {
	canned
	g *gateway.Gateway
}

func newPassage(f *testing.F) *passage {
	p := &passage{}
	e := model.Entry{
		Name: "m", Provider: model.OpenAI, Model: "the-model", BaseURL: "http://provider.test/v1", APIKeyEnv: "THE_KEY", MaxTokens: 100,
		APIs: []string{agent.APIChat, agent.APIResponses, agent.APIMessages}, Price: agent.Price{Input: 1, Output: 2},
	}
	models, err := model.NewSet(model.Config{Attempts: 1, RetryWait: 1, RetryMax: 1, Models: []model.Entry{e}}, func(string) string { return key }, model.WithTransport(&p.canned))
	if err != nil {
		f.Fatal(err)
	}
	cfg := gateway.DefaultConfig()
	cfg.Dir = f.TempDir()
	if p.g, err = gateway.New(cfg, models, "http://h", zerolog.Nop()); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.g.Close() })
	return p
}

// through sends one request through it and back.
func (p *passage) through(t *testing.T, c canned, api string, body []byte) (int, string, []agent.Call) {
	t.Helper()
	p.canned = c
	b := &books{}
	session, shut, err := p.g.Open(run, agent.AccessPublic, solve.Experiment{Model: "m", Temperature: ptr(0.5)}, b)
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/gateway/"+run+path(api), bytes.NewReader(body))
	r.Header.Set("X-Api-Key", session.Token)
	p.g.ServeHTTP(w, r)
	calls := b.settled()
	if len(calls) != len(b.worst) {
		t.Errorf("%d calls begun, %d settled", len(b.worst), len(calls))
	}
	return w.Code, w.Body.String(), calls
}

func apiOf(n uint8) string {
	return []string{agent.APIChat, agent.APIResponses, agent.APIMessages}[n%3]
}

// FuzzEdit: whatever an agent sends is refused, or goes on as one JSON object that says what
// the experiment says, once, and is otherwise what was sent.
func FuzzEdit(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"model":"x","messages":[{"role":"user","content":"hi"}],"stream":true}`, `{"model":"x","model":"y"}`, `{"Model":"x"}`, "{\"a\":\"\xff\"}",
		`{"tools":[{"type":"web_search"},{"type":"function"}],"tool_choice":{"type":"web_search"}}`, `{"thinking":{"type":"enabled","budget_tokens":9000},"max_tokens":9001}`,
		`{"input":[{"type":"input_image","image_url":"https://h"}]}`, `{"stream_options":{"a":1},"stream":true}`, "{\"a\" : 1e999,\r\n\"store\":true}", `[]`, `{"n":2}`, `{"a":[-0.5e+7,1.e1,01,"\u00zz",tru]}`, strings.Repeat("[", 10001) + strings.Repeat("]", 10001), `{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + "}",
	} {
		for n := range uint8(3) {
			f.Add([]byte(body), n)
		}
	}
	p := newPassage(f)
	f.Fuzz(func(t *testing.T, body []byte, n uint8) {
		c := canned{kind: "application/json", body: []byte(`{"choices":[],"output":[],"content":[],"usage":{}}`)}
		code, _, _ := p.through(t, c, apiOf(n), body)
		if c = p.canned; code == http.StatusBadRequest && c.sent == nil {
			return
		}
		if code != http.StatusOK {
			t.Fatalf("%d", code)
		}
		if !json.Valid(c.sent) {
			t.Fatalf("sent %q", c.sent)
		}
		in, out := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		_ = json.Unmarshal(body, &in)
		if err := json.Unmarshal(c.sent, &out); err != nil {
			t.Fatal(err)
		}
		if string(out["model"]) != `"the-model"` || string(out["temperature"]) != "0.5" {
			t.Errorf("sent %q", c.sent)
		}
		names := []string{}
		d := json.NewDecoder(bytes.NewReader(c.sent))
		d.UseNumber()
		for depth := 0; ; {
			tok, err := d.Token()
			if err != nil {
				break
			}
			switch tok {
			case json.Delim('{'), json.Delim('['):
				depth++
			case json.Delim('}'), json.Delim(']'):
				depth--
			default:
				if s, ok := tok.(string); ok && depth == 1 && strings.EqualFold(s, "model") {
					names = append(names, s)
				}
			}
		}
		if len(names) != 1 {
			t.Errorf("the model is named %d times in %q", len(names), c.sent)
		}
		for name, value := range out {
			was, ok := in[name]
			switch name {
			case "model", "temperature", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens", "thinking", "store", "tools", "include", "reasoning":
			default:
				if !ok || !bytes.Equal(was, value) {
					t.Errorf("%q was %q and is %q", name, was, value)
				}
			}
		}
	})
}

// FuzzMeter: whatever a provider streams, the agent gets all of it or an error, every call is
// settled, and costs what its tokens cost.
func FuzzMeter(f *testing.F) {
	for _, text := range []string{
		chatDelta + chatStop + chatUsage + chatDone, replyDelta + replyDone, claudStart + claudBlock + claudDelta + claudEnd + claudStop, "", ": hi\n\n", "data: {}\n\n", "data: [DONE]",
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"no\"}}\n\n", "data: {\"usage\":{\"prompt_tokens\":1e30,\"completion_tokens\":-4},\"choices\":[]}\r\n\r\ndata: [DONE]\r\r",
		claudStart + "data: {\"type\":\"message_delta\",\"usage\":null}\n\n", strings.ReplaceAll(chatDelta, "data: ", "data:\ndata: "),
	} {
		for n := range uint8(3) {
			f.Add([]byte(text), n)
		}
	}
	p := newPassage(f)
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		code, body, calls := p.through(t, canned{kind: "text/event-stream", body: text}, apiOf(n), []byte(`{"stream":true,"stream_options":{"include_usage":true}}`))
		if len(calls) != 1 {
			t.Fatalf("%d calls", len(calls))
		}
		c := calls[0]
		if c.Usage.Calls > 1 || c.Usage.Input < 0 || c.Usage.Output < 0 || c.Usage.Cost != solve.Money(c.Usage.Input+2*c.Usage.Output) && c.Usage.CachedRead == 0 && !strings.Contains(string(text), "creation") && !strings.Contains(string(text), "write") {
			t.Errorf("booked %+v", c)
		}
		if c.Usage.Calls == 0 && !reflect.DeepEqual(c.Usage, solve.Usage{}) {
			t.Errorf("no call, and %+v", c.Usage)
		}
		if body != string(text) && !strings.Contains(body, "error") {
			t.Errorf("%d %q of %q", code, body, text)
		}
		if strings.Contains(body, key) {
			t.Error("a key got out")
		}
	})
}
