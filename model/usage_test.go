package model_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

func priced(e *model.Entry) { e.Price = agent.Price{Input: 4, Output: 40} }

// TestUsageThatTheProviderDoesNotTell: the agent's own model is metered as the gateway's are.
func TestUsageThatTheProviderDoesNotTell(t *testing.T) {
	t.Parallel()
	for _, usage := range []string{
		`null`, `{}`, `{"prompt_tokens":0,"completion_tokens":0}`, `{"input_tokens":0,"output_tokens":0}`,
		`{"prompt_tokens":-5,"completion_tokens":-5,"input_tokens":-5,"output_tokens":-5}`,
		`{"prompt_tokens":1000000000000,"completion_tokens":1000000000000,"input_tokens":1000000000000,"output_tokens":1000000000000}`,
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":-9223372036854775807},"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":-9223372036854775807}`,
	} {
		for provider, body := range map[string]string{
			model.OpenAI:    `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"one two three four five"}}],"usage":` + usage + `}`,
			model.Anthropic: `{"type":"message","role":"assistant","content":[{"type":"text","text":"one two three four five"}],"stop_reason":"end_turn","usage":` + usage + `}`,
		} {
			u := serve(t, answer{body: body})
			reply, err := open(t, provider, u, priced, solve.Experiment{}).Query(t.Context(), history())
			got := reply.Usage
			if err != nil || got.Calls != 1 || got.Estimated != 1 || got.Input < int64(len(u.body()))/4 || got.Output < 6 || got.Cost < 500 || got.Cost > 10_000 {
				t.Errorf("%s with %s: %+v, %v", provider, usage, got, err)
			}
		}
	}
}

// TestTriesThatTimedOutArePaid: each try that the provider did not answer in time is booked with
// what was sent, though the query fails; one that the run's end cut off, too.
func TestTriesThatTimedOutArePaid(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{model.OpenAI, model.Anthropic} {
		u := serve(t, answer{hang: true})
		m := open(t, provider, u, func(e *model.Entry) { priced(e); e.Timeout = 500 * time.Millisecond }, solve.Experiment{})
		reply, err := m.Query(t.Context(), history())
		sent := int64(len(u.body())+3) / 4
		if got := reply.Usage; err == nil || u.calls() != 3 || got.Calls != 0 || got.Estimated != 1 || got.Input != 3*sent || got.Cost == 0 {
			t.Errorf("%s: %+v after %d tries of %d tokens, %v", provider, got, u.calls(), sent, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		u = serve(t, answer{hang: true, seen: func() { cancel(agent.ErrRunTime) }})
		reply, err = open(t, provider, u, priced, solve.Experiment{}).Query(ctx, history())
		if got := reply.Usage; !errors.Is(err, agent.ErrRunTime) || got.Calls != 0 || got.Input != sent || got.Estimated != 1 {
			t.Errorf("%s, cut off: %+v, %v", provider, got, err)
		}
	}
}

// TestRefusalsCostNothing: a provider that refuses, or cannot be reached, did no work.
func TestRefusalsCostNothing(t *testing.T) {
	t.Parallel()
	for _, a := range []answer{{status: 400, body: `{}`}, {status: 500, body: `{}`}, {status: 429, body: `{}`}} {
		reply, err := open(t, model.OpenAI, serve(t, a), priced, solve.Experiment{}).Query(t.Context(), history())
		if err == nil || reply.Usage != (solve.Usage{}) {
			t.Errorf("%d: %+v, %v", a.status, reply.Usage, err)
		}
	}
}

// TestConnectionThatTimesOutCostsNothing: a provider to which no connection came about in time
// did no work, for neither the agent's own model nor the gateway, and the text says what is wrong.
func TestConnectionThatTimesOutCostsNothing(t *testing.T) {
	t.Parallel()
	dial := &http.Transport{DialContext: (&net.Dialer{Timeout: time.Nanosecond}).DialContext}
	e := model.Entry{Name: "m", Provider: model.OpenAI, BaseURL: "http://127.0.0.1:1/v1", Timeout: time.Minute}
	priced(&e)
	s, err := model.NewSet(config(e), env, model.WithTransport(dial))
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Open("m", solve.Experiment{})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := m.Query(t.Context(), history())
	wantError(t, err, agent.StatusConnection, "cannot be reached")
	if reply.Usage != (solve.Usage{}) {
		t.Errorf("%+v", reply.Usage)
	}
	up, err := s.Upstream("m", solve.Experiment{})
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	_, err = up.Send(t.Context(), model.Request{API: agent.APIChat, Body: []byte("{}"), Lost: func() { lost++ }})
	wantError(t, err, agent.StatusConnection, "cannot be reached")
	if lost != 0 {
		t.Errorf("%d tries are booked", lost)
	}
}

// TestReplyThatIsTooLongIsNotKept: a reply many times as long as what was asked for is booked with the
// call's bound and given to nobody, whatever usage is told. It is not asked for again.
func TestReplyThatIsTooLongIsNotKept(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 20_000)
	for provider, body := range map[string]string{
		model.OpenAI:    `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"` + words + `"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		model.Anthropic: `{"type":"message","role":"assistant","content":[{"type":"text","text":"` + words + `"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
	} {
		u := serve(t, answer{body: body})
		m := open(t, provider, u, func(e *model.Entry) { priced(e); e.MaxTokens = 1000 }, solve.Experiment{})
		reply, err := m.Query(t.Context(), history())
		wantError(t, err, agent.StatusBadResponse, "longer than the reply that was asked for")
		const most = 40*1000 + 12_000 // the reply that was asked for, and a token for each byte that was sent
		if got := reply.Usage; reply.Message.Content != "" || u.calls() != 1 || got.Estimated != 1 || got.Cost < 40_000 || got.Cost > most {
			t.Errorf("%s: %d calls, %+v of at most %s", provider, u.calls(), got, solve.Money(most))
		}
	}
}
