package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// duo is a set of two scripted models and a roulette of both.
func duo(t *testing.T) *model.Set {
	t.Helper()
	const script = "prices: {a: {input: 1, output: 1}, b: {input: 2, output: 2}}\nplays:\n- match: {model: a}\n  steps: [{say: I am a, runs: [echo a]}]\n- match: {model: b}\n  steps: [{say: I am b, runs: [echo b]}]\n"
	cfg := config(played(t, "a", script), played(t, "b", script), model.Entry{Name: "duo", Provider: model.Roulette, Members: []string{"a", "b"}})
	set, err := model.NewSet(cfg, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestRoulette: every step asks one of the members, by chance but always the same one, and
// costs what that one costs.
func TestRoulette(t *testing.T) {
	t.Parallel()
	set := duo(t)
	if err := set.Ready("duo"); err != nil || !set.Metered("duo") || set.Temperature("duo") != solve.TemperatureAccepted {
		t.Fatalf("ready %v, metered %v, temperature %s", err, set.Metered("duo"), set.Temperature("duo"))
	}
	draws := func(x solve.Experiment, task string) (out []string) {
		m, err := set.Open("duo", x)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name() != "duo" {
			t.Errorf("it is called %s", m.Name())
		}
		history := []agent.Message{{Role: agent.RoleSystem}, {Role: agent.RoleUser, Content: task}}
		for range 24 {
			reply, err := m.Query(t.Context(), history)
			if err != nil {
				t.Fatal(err)
			}
			var raw struct{ Model string }
			if err := json.Unmarshal(reply.Raw, &raw); err != nil {
				t.Fatal(err)
			}
			out = append(out, raw.Model)
			reply.Message.Role = agent.RoleAssistant
			history = append(history, reply.Message)
			for _, c := range reply.Message.ToolCalls {
				history = append(history, agent.Message{Role: agent.RoleTool, ToolCallID: c.ID})
			}
		}
		return out
	}
	first := draws(solve.Experiment{Repeat: 1}, "mend it")
	if n := len(slices.DeleteFunc(slices.Clone(first), func(m string) bool { return m == "b" })); n < 4 || n > 20 {
		t.Errorf("24 steps asked a %d times: %v", n, first)
	}
	if again := draws(solve.Experiment{Repeat: 1}, "mend it"); !slices.Equal(first, again) {
		t.Errorf("the same run drew %v and %v", first, again)
	}
	for name, other := range map[string][]string{
		"repeat": draws(solve.Experiment{Repeat: 2}, "mend it"), "task": draws(solve.Experiment{Repeat: 1}, "mend that"),
	} {
		if slices.Equal(first, other) {
			t.Errorf("another %s drew the same", name)
		}
	}
}

// TestRouletteKeepsThinking: signed thinking goes back to the model that thought, and to no other.
func TestRouletteKeepsThinking(t *testing.T) {
	t.Parallel()
	var asked, body string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var req struct{ Model string }
		if err := json.Unmarshal(data, &req); err != nil {
			t.Error(err)
		}
		asked, body = req.Model, string(data)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"hm"}],"stop_reason":"end_turn","usage":{}}`)
	}))
	t.Cleanup(api.Close)
	set, err := model.NewSet(model.Config{Attempts: 1, RetryWait: 1, RetryMax: 1, Models: []model.Entry{
		{Name: "a", Provider: model.Anthropic, BaseURL: api.URL}, {Name: "b", Provider: model.Anthropic, BaseURL: api.URL},
		{Name: "duo", Provider: model.Roulette, Members: []string{"a", "b"}},
	}}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for repeat := range 20 {
		m, err := set.Open("duo", solve.Experiment{Repeat: repeat + 1})
		if err != nil {
			t.Fatal(err)
		}
		history := []agent.Message{{Role: agent.RoleSystem, Content: "s"}, {Role: agent.RoleUser, Content: "u"}}
		if _, err := m.Query(t.Context(), history); err != nil {
			t.Fatal(err)
		}
		thought := asked
		history = append(history, agent.Message{
			Role: agent.RoleAssistant, Content: "hm", Native: json.RawMessage(`[{"type":"thinking","thinking":"deep","signature":"x"},{"type":"text","text":"hm"}]`),
		}, agent.Message{Role: agent.RoleUser, Content: "go on"})
		if _, err := m.Query(t.Context(), history); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(body, "signature"), asked == thought; got != want {
			t.Errorf("repeat %d: %s thought, %s was asked, and was shown it: %v", repeat+1, thought, asked, got)
		}
		if asked == thought {
			same++
		}
	}
	if same == 0 || same == 20 {
		t.Errorf("the same model was asked twice %d times of 20", same)
	}
}

func TestRouletteIsChecked(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]model.Entry{
		"must name two models or more":        {Members: []string{"a"}},
		`"a" is there twice`:                  {Members: []string{"a", "a"}},
		`"c" is no model of this list`:        {Members: []string{"a", "c"}},
		`"duo" is a roulette itself`:          {Members: []string{"a", "duo"}},
		"must be set at the roulette's membe": {Members: []string{"a", "b"}, BaseURL: "http://x"},
		"is only for provider roulette":       {Provider: model.OpenAI, Members: []string{"a", "b"}},
	} {
		e.Name = "duo"
		if e.Provider == "" {
			e.Provider = model.Roulette
		}
		cfg := model.Config{Attempts: 1, RetryWait: 1, RetryMax: 1, Models: []model.Entry{{Name: "a", Provider: model.OpenAI}, {Name: "b", Provider: model.Anthropic}, e}}
		var problems []string
		cfg.Validate(func(key, problem string) { problems = append(problems, key+" "+problem) })
		if !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%q, want %q", problems, want)
		}
	}
}
