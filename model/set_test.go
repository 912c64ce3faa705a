package model_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

func problems(c model.Config) []string {
	var out []string
	c.Validate(func(key, problem string) { out = append(out, key+": "+problem) })
	slices.Sort(out)
	return out
}

func TestDefaultConfig(t *testing.T) {
	t.Parallel()
	cfg := model.DefaultConfig()
	if got := problems(cfg); len(got) != 0 {
		t.Error(got)
	}
	s, err := model.NewSet(cfg, func(string) string { return "key" })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range s.Names() {
		if err := s.Ready(name); err != nil || !s.Metered(name) {
			t.Errorf("%s: %v, metered %v", name, err, s.Metered(name))
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	cfg := model.Config{Models: []model.Entry{
		{Name: "a", Provider: "openai"},
		{Name: "a", Provider: "anthropic", ReasoningEffort: "low", Temperature: "warm", MaxTokens: -1, Timeout: -1},
		{Provider: "acme"},
		{Name: "s", Provider: "scripted"},
		{Name: "t", Provider: "openai", Script: "x", BaseURL: "ftp://host"},
		{Name: "u", Provider: "openai", BaseURL: "https://user:" + secret + "@host/v1", Price: agent.Price{Output: -1}},
		{Name: "v", Provider: "openai", BaseURL: "http://host/?key=" + secret},
		{Name: "w", Provider: "openai", BaseURL: "http://ho st" + secret},
	}}
	want := []string{
		"attempts: must be 1 to 1000",
		`models[1].name: "a" is there twice`,
		"models[1].max_tokens: must be 0 (the default) to 100000000",
		"models[1].reasoning_effort: is only for provider openai",
		`models[1].temperature: "warm" is none of accepted, ignored, refused`,
		"models[1].timeout: must be at least 1ms (0 is the default)",
		"models[2].name: is missing",
		`models[2].provider: "acme" is none of openai, anthropic, scripted, roulette`,
		"models[3].script: is missing: the file that a scripted model plays",
		"models[4].base_url: must begin with http:// or https:// and a host",
		"models[4].script: is only for provider scripted",
		"models[5].base_url: must not hold a password; name the key with api_key_env or api_key_file",
		"models[5].price.output: must be a price in US dollars per million tokens, 0 to 1000000",
		"models[6].base_url: must not have a query or a fragment",
		"models[7].base_url: is not a URL",
		"retry_wait: must be more than 0",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, problems(cfg)); diff != "" {
		t.Error(diff)
	}
	if _, err := model.NewSet(cfg, os.Getenv); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

func TestCapabilityTable(t *testing.T) {
	t.Parallel()
	for want, names := range map[solve.TemperatureRule][]string{
		solve.TemperatureRefused: {
			"gpt-5", "gpt-5-mini", "gpt-5.4", "gpt-5.1-codex", "gpt-6-sol", "gpt-5-2025-08-07", "openai/gpt-5", "o1", "o3-mini", "o4-mini-2025-04-16",
			"codex-mini-latest", "claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-opus-5-5", "claude-sonnet-5", "claude-sonnet-5-5-20260928",
			"claude-haiku-5-5", "claude-fable-5-1", "claude-mythos-5", "claude-mythos-preview", "anthropic/claude-opus-4.7", "anthropic/claude-4.7-opus", "Claude-Opus-5",
		},
		solve.TemperatureAccepted: {
			"gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini-2024-07-18", "gpt-3.5-turbo", "gpt-5-chat-latest", "gpt-oss-120b",
			"claude-opus-4-6", "claude-opus-4-5-20251101", "claude-sonnet-4-20250514", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-3-5-sonnet-20241022",
			"claude-3-opus-20240229", "anthropic/claude-3.7-sonnet", "qwen3-coder:30b", "deepseek-chat", "olmo-2", "o", "",
		},
	} {
		for _, name := range names {
			s, err := model.NewSet(config(model.Entry{Name: "m", Model: name, Provider: "openai"}), env)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Temperature("m"); got != want {
				t.Errorf("%q: %s, want %s", name, got, want)
			}
		}
	}
}

func TestConfigOverridesTheTable(t *testing.T) {
	t.Parallel()
	s, err := model.NewSet(config(
		model.Entry{Name: "gpt-5", Provider: "openai", Temperature: "accepted"},
		model.Entry{Name: "local", Provider: "openai", BaseURL: "http://localhost:1", Temperature: "ignored"},
	), env)
	if err != nil {
		t.Fatal(err)
	}
	if s.Temperature("gpt-5") != solve.TemperatureAccepted || s.Temperature("local") != solve.TemperatureIgnored {
		t.Error(s.Temperature("gpt-5"), s.Temperature("local"))
	}
}

// A temperature that the model does not take is not sent, even if somebody asks for it.
func TestRefusedTemperatureIsNotSent(t *testing.T) {
	t.Parallel()
	temp := 0.5
	for _, c := range []string{"refused", "ignored"} {
		u := serve(t, answer{body: chat})
		m := open(t, model.OpenAI, u, func(e *model.Entry) { e.Temperature = c }, solve.Experiment{Temperature: &temp})
		if _, err := m.Query(t.Context(), history()); err != nil {
			t.Fatal(err)
		}
		if got, ok := u.sent(t, 0)["temperature"]; ok {
			t.Errorf("%s: %v was sent", c, got)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full, empty := filepath.Join(dir, "key"), filepath.Join(dir, "empty")
	if err := errors.Join(os.WriteFile(full, []byte(secret+"\n"), 0o600), os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		entry model.Entry
		want  string // "" is ready
	}{
		{"usual variable", model.Entry{Provider: "openai"}, "OPENAI_API_KEY is not set; export it"},
		{"usual variable of the other", model.Entry{Provider: "anthropic"}, "ANTHROPIC_API_KEY is not set"},
		{"named variable", model.Entry{Provider: "openai", APIKeyEnv: "THE_KEY"}, ""},
		{"named variable, not set", model.Entry{Provider: "openai", APIKeyEnv: "MY_KEY", BaseURL: "http://host/v1"}, "MY_KEY is not set"},
		{"local server", model.Entry{Provider: "openai", BaseURL: "http://localhost:11434/v1"}, ""},
		{"file", model.Entry{Provider: "anthropic", APIKeyFile: full}, ""},
		{"empty file", model.Entry{Provider: "anthropic", APIKeyFile: empty}, "is empty"},
		{"missing file", model.Entry{Provider: "anthropic", APIKeyFile: full + "x"}, "read api_key_file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.entry.Name = "m"
			s, err := model.NewSet(config(c.entry), env)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Ready("m")
			_, opened := s.Open("m", solve.Experiment{})
			if c.want == "" {
				if err != nil || opened != nil {
					t.Error(err, opened)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "model m") || opened == nil {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestUnknownModel(t *testing.T) {
	t.Parallel()
	s, err := model.NewSet(config(model.Entry{Name: "a", Provider: "openai"}, model.Entry{Name: "b", Provider: "openai"}), env)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Open("c", solve.Experiment{})
	if !errors.Is(err, model.ErrUnknown) || !strings.Contains(err.Error(), "a, b") || !errors.Is(s.Ready("c"), model.ErrUnknown) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestMetered(t *testing.T) {
	t.Parallel()
	const script = "prices: {dear: {input: 1}}\nplays: [{steps: [{run: ls}]}]"
	s, err := model.NewSet(config(
		model.Entry{Name: "free", Provider: "openai"},
		model.Entry{Name: "paid", Provider: "openai", Price: agent.Price{Input: 1}},
		played(t, "dear", script), played(t, "cheap", script),
	), env)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"free": false, "paid": true, "dear": true, "cheap": false, "nobody": false} {
		if s.Metered(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestScriptedModels(t *testing.T) {
	t.Parallel()
	entry := played(t, "file", "plays: [{match: {temperature: 0.7}, steps: [{run: warm}]}, {steps: [{run: cold}]}]")
	entry.Price = agent.Price{Input: 1000}
	s, err := model.NewSet(config(entry, played(t, "other", "plays: [{steps: [{run: brought}]}]")), env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"file", "other"}, s.Names()); diff != "" {
		t.Error(diff)
	}
	warm := 0.7
	for _, c := range []struct {
		name string
		temp *float64
		want string
	}{{"file", &warm, "warm"}, {"file", nil, "cold"}, {"other", &warm, "brought"}} {
		if s.Temperature(c.name) != solve.TemperatureAccepted || s.Ready(c.name) != nil {
			t.Error(c.name, s.Temperature(c.name), s.Ready(c.name))
		}
		m, err := s.Open(c.name, solve.Experiment{Temperature: c.temp})
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Query(context.Background(), history()[:2])
		if err != nil || !strings.Contains(r.Message.ToolCalls[0].Arguments, c.want) || m.Name() != c.name {
			t.Errorf("%+v: %+v, %v", c, r.Message, err)
		}
		if c.name == "file" && r.Usage.Cost == 0 {
			t.Error("the entry's price is not used")
		}
	}
}

func TestBadScriptsAreFoundAtStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script.yml")
	if err := os.WriteFile(path, []byte("plays:\n  - stepps: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]string{path: "line 2, column 5", path + "x": "no such file"} {
		_, err := model.NewSet(config(model.Entry{Name: "m", Provider: "scripted", Script: p}), env)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "model m") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The process's own environment takes part in nothing: a local server gets no
// key that was meant for a provider, and no variable moves a request elsewhere.
func TestProcessEnvironmentIsNotUsed(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, secret)
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: "+secret)
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: "+secret)
	for _, provider := range []string{model.OpenAI, model.Anthropic} {
		u := serve(t, answer{body: good(provider)})
		m := open(t, provider, u, func(e *model.Entry) { e.APIKeyEnv = "" }, solve.Experiment{})
		if _, err := m.Query(t.Context(), history()); err != nil {
			t.Fatal(provider, err)
		}
		for name, values := range u.requests[0].Header {
			if strings.Contains(strings.Join(values, " "), secret) {
				t.Errorf("%s: header %s holds a key", provider, name)
			}
		}
	}
}
