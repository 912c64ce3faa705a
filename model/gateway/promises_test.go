package gateway_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// What the page says is removed is removed, whatever it holds and whatever the API.
func TestMembersThatAreRemoved(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, member := range []string{
			"service_tier", "speed", "inference_geo", "fallback_credit_token", "models", "route", "provider",
			"plugins", "web_search_options", "search_parameters", "enable_search",
		} {
			w := newWorld(t, provider, nil, failed(400, "{}"))
			w.ask(path(api), `{"model":"the-model","`+member+`":{"a":["b"]},"store":false}`)
			if _, _, got := w.up.last(); got == "" || strings.Contains(got, member) {
				t.Errorf("%s: upstream got %q", member, got)
			}
		}
	})
}

// Thinking that is switched off stays so beside a temperature, which excludes only the other kind.
func TestDisabledThinkingStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		temperature float64
		thinking    string
		stays       bool
	}{
		{0.5, `{"type":"disabled"}`, true}, {0.5, `{"type":"adaptive"}`, false}, {1, `{"type":"enabled","budget_tokens":2000}`, true},
	} {
		w := newWorld(t, model.Anthropic, func(s *setting) { s.x.Temperature = &c.temperature }, failed(400, "{}"))
		w.ask(path(agent.APIMessages), `{"model":"x","max_tokens":9000,"thinking":`+c.thinking+`}`)
		if _, _, got := w.up.last(); got == "" || strings.Contains(got, c.thinking) != c.stays {
			t.Errorf("%v, %s: upstream got %q", c.temperature, c.thinking, got)
		}
	}
}

// The betas that docs/gateway.md closes do not go on, in any case of letters; others do.
func TestBetasOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "Betas whose names begin with")
	text, _, _ = strings.Cut(text, "do not.")
	found := regexp.MustCompile("`([a-z0-9-]+-)`").FindAllStringSubmatch(text, -1)
	if len(found) < 10 {
		t.Fatalf("the page names %q", found)
	}
	w := newWorld(t, model.Anthropic, nil, failed(400, "{}"))
	for _, m := range found {
		w.ask(path(agent.APIMessages), `{}`, "Anthropic-Beta", "first-1,"+m[1]+"2025-01-01, "+strings.ToUpper(m[1])+"x,last-2")
		if _, head, _ := w.up.last(); head.Get("Anthropic-Beta") != "first-1,last-2" {
			t.Errorf("%s: %q went upstream", m[1], head.Get("Anthropic-Beta"))
		}
	}
}

// Where the run goes on but not here now, the program is told when to come again.
func TestComeAgain(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		w := newWorld(t, provider, nil, plain(whole(api)))
		w.g.Stop()
		got := w.ask(path(api), `{}`)
		if got.wrong(t, api); got.status != 503 || got.head.Get("Retry-After") != "2" || got.head.Get("X-Should-Retry") != "" {
			t.Errorf("%+v", got)
		}
	})
}

// hesitant is an account whose leave never comes.
type hesitant struct{ asked chan struct{} }

func (h hesitant) Begin(ctx context.Context, _ solve.Money) error {
	close(h.asked)
	<-ctx.Done()
	return ctx.Err()
}

func (hesitant) End(context.Context, agent.Call) error { return errors.New("nothing was begun") }

// A call that waits for leave when its run ends is told so, is not settled, and holds nothing up.
func TestRunEndsWhileACallWaitsForLeave(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		w := newWorld(t, provider, nil, plain(whole(api)))
		account := hesitant{make(chan struct{})}
		session, shut, err := w.g.Open("run-h", agent.AccessLoopback, solve.Experiment{Model: "m"}, account)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan said, 1)
		go func() { done <- w.askWith(t.Context(), session.URL+path(api), "Bearer "+session.Token, `{}`) }()
		<-account.asked
		shut()
		got := <-done
		if _, message := got.wrong(t, api); got.status != 401 || !strings.Contains(message, "has ended") || w.up.calls() != 0 || session.LastError() != nil {
			t.Errorf("%+v, trouble %v", got, session.LastError())
		}
	})
}
