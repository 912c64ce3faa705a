package model_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// canned answers every request with the same bytes.
type canned struct {
	status int
	body   []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"0"}},
		Body:   io.NopCloser(bytes.NewReader(c.body)), ContentLength: int64(len(c.body)),
	}, nil
}

// FuzzAnswer: whatever a provider sends, the client returns a reply of the
// assistant that costs nothing negative, or an error of ours without the key.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		chat, `{"choices":[]}`, `{"choices":[{"message":{"content":null,"refusal":"no"}}],"usage":{"prompt_tokens":-5}}`, "", "null", "[", `{"error":{"message":"` + secret + `"}}`,
		`{"type":"message","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"x"},{"type":"tool_use","id":"a","name":"bash","input":null}],"usage":{"input_tokens":1e30}}`,
	} {
		for _, status := range []uint16{200, 429, 500, 400, 204} {
			f.Add(body, status, true)
			f.Add(body, status, false)
		}
	}
	f.Fuzz(func(t *testing.T, body string, status uint16, chatty bool) {
		provider := model.Anthropic
		if chatty {
			provider = model.OpenAI
		}
		e := model.Entry{
			Name: "m", Provider: provider, Model: "the-model", BaseURL: "http://provider.test/v1", APIKeyEnv: "THE_KEY", Timeout: time.Second,
			Price: agent.Price{Input: 1, Output: 2},
		}
		cfg := config(e)
		cfg.Attempts = 1
		s, err := model.NewSet(cfg, env, model.WithTransport(canned{status: 200 + int(status)%400, body: []byte(body)}))
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Open("m", solve.Experiment{})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := m.Query(t.Context(), history())
		if err != nil {
			if _, ours := errors.AsType[*model.Error](err); !ours || strings.Contains(err.Error(), secret) {
				t.Errorf("error %T: %v", err, err)
			}
			return
		}
		if u := reply.Usage; reply.Message.Role != agent.RoleAssistant || u.Cost < 0 {
			t.Errorf("%+v", reply)
		}
		// What was said can be sent again.
		if _, err := m.Query(t.Context(), append(history(), reply.Message)); err != nil {
			t.Errorf("the reply cannot be part of a history: %v", err)
		}
	})
}
