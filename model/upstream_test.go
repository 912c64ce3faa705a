package model_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
)

func TestAPIs(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load([]byte("plays: [{steps: [{run: ls}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := model.NewSet(config(
		model.Entry{Name: "own", Provider: model.OpenAI}, model.Entry{Name: "server", Provider: model.OpenAI, BaseURL: "http://h/v1"},
		model.Entry{Name: "more", Provider: model.OpenAI, BaseURL: "http://h/v1", APIs: []string{"messages", "chat"}},
		model.Entry{Name: "claude", Provider: model.Anthropic}, model.Entry{Name: "wheel", Provider: model.Roulette, Members: []string{"own", "claude"}},
	), env, model.WithScript("play", script))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"own": {"chat", "responses"}, "server": {"chat"}, "more": {"messages", "chat"}, "claude": {"messages"}, "play": {"chat", "responses", "messages"}, "wheel": nil, "nobody": nil,
	} {
		if got := s.APIs(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if _, err := s.Upstream("wheel", solve.Experiment{}); err == nil || !strings.Contains(err.Error(), "mini") {
		t.Error(err)
	}
	if _, err := s.Upstream("nobody", solve.Experiment{}); !errors.Is(err, model.ErrUnknown) {
		t.Error(err)
	}
	if _, err := s.Upstream("own", solve.Experiment{}); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Error(err)
	}
	want := []string{
		`models[0].apis: "completions" is none of chat, responses, messages`, `models[0].apis: "chat" is there twice`,
		`models[1].apis: "chat" is not offered by provider anthropic; it offers messages`,
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, problems(config(
		model.Entry{Name: "a", Provider: model.OpenAI, APIs: []string{"chat", "completions", "chat"}},
		model.Entry{Name: "b", Provider: model.Anthropic, APIs: []string{"messages", "chat"}},
	))); diff != "" {
		t.Error(diff)
	}
}

// A call tells whether it was given up while the provider worked on it, or between attempts.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{"in flight": {hang: true}, "waiting": {status: 503, header: map[string]string{"Retry-After": "60"}}} {
		u := serve(t, a)
		s, err := model.NewSet(config(model.Entry{Name: "m", Provider: model.OpenAI, BaseURL: u.URL}), env)
		if err != nil {
			t.Fatal(err)
		}
		up, err := s.Upstream("m", solve.Experiment{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err = up.Send(ctx, model.Request{API: agent.APIChat, Body: []byte("{}")})
		if errors.Is(err, model.ErrInFlight) != (name == "in flight") || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The names of our account at a provider are in no text for people.
func TestAccountsAreNotNamed(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{status: 429, body: failed(model.OpenAI, "insufficient_quota", "org-AbCdEfGh1234 of proj_AbCdEfGh1234 has no quota")})
	_, err := open(t, model.OpenAI, u, nil, solve.Experiment{}).Query(t.Context(), history())
	if err == nil || strings.Contains(err.Error(), "AbCdEfGh") || !strings.Contains(err.Error(), "[account] of [account]") {
		t.Error(err)
	}
}

// A player's answer is read while it is written, and whoever leaves it ends it.
func TestPlayersAnswer(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load([]byte("plays: [{steps: [{run: ls}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	more, ended := make(chan struct{}), make(chan struct{})
	s, err := model.NewSet(config(), env, model.WithScript("m", script), model.WithPlayer(func(open func() (agent.Model, error)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			if m, err := open(); err != nil || m.Name() != "m" || r.URL.Path != "/v1/messages" || r.URL.RawQuery != "beta=true" {
				t.Errorf("%v, %s", err, r.URL)
			}
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write(body)
			<-more
			_, _ = w.Write([]byte(" more"))
			<-r.Context().Done()
		})
	}))
	if err != nil {
		t.Fatal(err)
	}
	up, err := s.Upstream("m", solve.Experiment{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := up.Send(t.Context(), model.Request{API: agent.APIMessages, Query: "beta=true", Body: []byte("first")})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("first more"))
	if _, err := io.ReadFull(res.Body, got[:5]); err != nil {
		t.Fatal(err)
	}
	close(more)
	if _, err := io.ReadFull(res.Body, got[5:]); err != nil || string(got) != "first more" || res.StatusCode != http.StatusAccepted {
		t.Errorf("%q, %v, %d", got, err, res.StatusCode)
	}
	res.Body.Close()
	<-ended
}
