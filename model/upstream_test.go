package model_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

func TestAPIs(t *testing.T) {
	t.Parallel()
	s, err := model.NewSet(config(
		model.Entry{Name: "own", Provider: model.OpenAI}, model.Entry{Name: "server", Provider: model.OpenAI, BaseURL: "http://h/v1"},
		model.Entry{Name: "named", Provider: model.OpenAI, BaseURL: "https://api.openai.com/v1/"},
		model.Entry{Name: "more", Provider: model.OpenAI, BaseURL: "http://h/v1", APIs: []string{"messages", "chat"}},
		model.Entry{Name: "claude", Provider: model.Anthropic}, model.Entry{Name: "wheel", Provider: model.Roulette, Members: []string{"own", "claude"}},
		played(t, "play", "plays: [{steps: [{run: ls}]}]"),
	), env)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"own": {"chat", "responses"}, "server": {"chat"}, "named": {"chat", "responses"}, "more": {"messages", "chat"}, "claude": {"messages"}, "play": {"chat", "responses", "messages"}, "wheel": nil, "nobody": nil,
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
