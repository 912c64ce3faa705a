package model_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// TestAsk: a wrong key, an unknown model and a server that is away are found by one short call.
func TestAsk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		body, want string
	}{
		"there": {http.StatusOK, `{"choices":[{"finish_reason":"length","message":{"role":"assistant","content":"Yes"}}]}`, ""},
		"reasoning": {http.StatusBadRequest, `{"error":{"message":"Could not finish the message because max_tokens or model output limit was reached.",` +
			`"type":"invalid_request_error"}}`, ""},
		"wrong key":     {http.StatusUnauthorized, `{"error":{"message":"Incorrect API key"}}`, "the key was refused (HTTP 401); check YUDAI_ASK_KEY"},
		"unknown model": {http.StatusNotFound, `{"error":{"message":"no such model"}}`, "check model and base_url"},
		"failing":       {http.StatusServiceUnavailable, `{"error":{"message":"overloaded"}}`, "the provider failed (HTTP 503)"},
	} {
		u := serve(t, answer{status: c.status, body: c.body})
		cfg := model.DefaultConfig()
		cfg.Models = []model.Entry{{Name: "m", Provider: model.OpenAI, BaseURL: u.URL + "/v1", APIKeyEnv: "YUDAI_ASK_KEY"}}
		set, err := model.NewSet(cfg, func(string) string { return secret })
		if err != nil {
			t.Fatal(err)
		}
		err = set.Ask(t.Context(), "m")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		u.mu.Lock()
		if len(u.bodies) != 1 || !strings.Contains(u.bodies[0], `16`) {
			t.Errorf("%s: %d calls: %s", name, len(u.bodies), u.bodies)
		}
		u.mu.Unlock()
		u.Close()
		if err := set.Ask(t.Context(), "m"); err == nil || !strings.Contains(err.Error(), "cannot be reached") || !strings.Contains(err.Error(), "check base_url") {
			t.Errorf("%s, server gone: %v", name, err)
		}
	}
}

// TestObserver: every try is told, also those that are repeated; the last word of a model that is there is no error.
func TestObserver(t *testing.T) {
	t.Parallel()
	const spent = `{"error":{"message":"max_tokens or model output limit was reached."}}`
	u := serve(t, answer{status: 503, body: "?"}, answer{body: chat}, answer{status: 400, body: spent})
	var told []string
	cfg := model.DefaultConfig()
	cfg.RetryWait, cfg.RetryMax = time.Millisecond, time.Millisecond
	cfg.Models = []model.Entry{{Name: "m", Provider: model.OpenAI, BaseURL: u.URL + "/v1"}}
	set, err := model.NewSet(cfg, func(string) string { return "" }, model.WithObserver(func(name string, failed *model.Error) {
		line := name + " answers"
		if failed != nil {
			line = failed.Error()
		}
		told = append(told, line)
	}))
	if err != nil {
		t.Fatal(err)
	}
	m, err := set.Open("m", solve.Experiment{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Query(t.Context(), []agent.Message{{Role: agent.RoleUser, Content: "hi"}}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || !strings.Contains(told[0], "HTTP 503") || told[1] != "m answers" {
		t.Errorf("a call that is repeated: %q", told)
	}
	if err := set.Ask(t.Context(), "m"); err != nil || told[len(told)-1] != "m answers" {
		t.Errorf("%v, told %q", err, told)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Query(gone, nil); err == nil || len(told) != 4 {
		t.Errorf("a call that was given up: %v, told %q", err, told)
	}
}

// TestAnswers: a model that answered is not asked again for five minutes, one that did not is; a wrong key, an unknown model and an
// empty account are told from a server that fails now.
func TestAnswers(t *testing.T) {
	t.Parallel()
	set := func(u *upstream) *model.Set {
		cfg := model.DefaultConfig()
		cfg.Models = []model.Entry{
			{Name: "m", Provider: model.OpenAI, BaseURL: u.URL + "/v1"}, {Name: "n", Provider: model.OpenAI, BaseURL: u.URL + "/v1"},
			{Name: "duo", Provider: model.Roulette, Members: []string{"m", "n"}},
		}
		made, err := model.NewSet(cfg, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	u := serve(t, answer{status: 503, body: "?"}, answer{body: chat}, answer{body: chat})
	s := set(u)
	for i, want := range []int{1, 2, 2, 3, 3} { // fails, answers, remembered, the other member, remembered
		name := []string{"m", "m", "m", "duo", "duo"}[i]
		if err := s.Answers(t.Context(), name); (err != nil) != (i == 0) || u.calls() != want {
			t.Errorf("ask %d: %v after %d calls, want %d", i, err, u.calls(), want)
		}
	}
	for body, c := range map[string]struct {
		status int
		wrong  bool
	}{
		failed(model.OpenAI, "invalid_api_key", "no"):      {401, true},
		failed(model.OpenAI, "", "no access"):              {403, true},
		failed(model.OpenAI, "", "unknown"):                {404, true},
		failed(model.OpenAI, "model_not_found", "unknown"): {400, true},
		failed(model.OpenAI, "insufficient_quota", "pay"):  {429, true},
		failed(model.OpenAI, "", "slow down"):              {429, false},
		failed(model.OpenAI, "", "bad parameter"):          {400, false},
		failed(model.OpenAI, "", "down"):                   {503, false},
	} {
		err, ok := errors.AsType[*model.Error](set(serve(t, answer{status: c.status, body: body})).Answers(t.Context(), "m"))
		if !ok || err.Wrong() != c.wrong {
			t.Errorf("%d %s: %v", c.status, body, err)
		}
	}
}

// TestMembersAnswerAtOnce: a server that answers when the calls of both members of a roulette are there answers both.
func TestMembersAnswerAtOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	both := make(chan struct{})
	u := serve(t, answer{body: chat, seen: func() {
		if calls.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-t.Context().Done():
		}
	}})
	cfg := model.DefaultConfig()
	cfg.Models = []model.Entry{
		{Name: "m", Provider: model.OpenAI, BaseURL: u.URL + "/v1"}, {Name: "n", Provider: model.OpenAI, BaseURL: u.URL + "/v1"},
		{Name: "duo", Provider: model.Roulette, Members: []string{"m", "n"}},
	}
	s, err := model.NewSet(cfg, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Answers(t.Context(), "duo"); err != nil {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
