package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// TestRouletteCostsItsMembers: a step costs what the member that answers costs, and has the
// experiment's temperature where that one takes it.
func TestRouletteCostsItsMembers(t *testing.T) {
	t.Parallel()
	var asked struct {
		Model       string
		Temperature *float64
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Temperature = nil
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","model":"x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hm"}}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}`)
	}))
	t.Cleanup(api.Close)
	set, err := model.NewSet(config(
		model.Entry{Name: "warm", Provider: model.OpenAI, BaseURL: api.URL, Price: agent.Price{Input: 1, Output: 1}},
		model.Entry{Name: "gpt-5", Provider: model.OpenAI, BaseURL: api.URL, Price: agent.Price{Input: 3, Output: 3}},
		model.Entry{Name: "duo", Provider: model.Roulette, Members: []string{"warm", "gpt-5"}},
	), env)
	if err != nil {
		t.Fatal(err)
	}
	temperature := 0.4
	seen := map[string]bool{}
	for repeat := range 20 {
		m, err := set.Open("duo", solve.Experiment{Model: "duo", Repeat: repeat + 1, Temperature: &temperature})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := m.Query(t.Context(), []agent.Message{{Role: agent.RoleSystem, Content: "s"}, {Role: agent.RoleUser, Content: "u"}})
		if err != nil {
			t.Fatal(err)
		}
		seen[asked.Model] = true
		takes, cost := asked.Model == "warm", solve.Money(33)
		if takes {
			cost = 11
		}
		if reply.Usage.Cost != cost || (asked.Temperature != nil) != takes || takes && *asked.Temperature != temperature {
			t.Errorf("%s: cost %d, want %d; temperature %v", asked.Model, reply.Usage.Cost, cost, asked.Temperature)
		}
	}
	if len(seen) != 2 {
		t.Errorf("asked %v", seen)
	}
}
