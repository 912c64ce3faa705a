package server_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

func TestWavesOfTheConfigurationAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{stop: waves}":                    "solver.waves: has no waves, and solver.stop is waves",
		"{stop: wave}":                     `1:16: solver.stop: "wave" is no stop rule: it takes all, first_green or waves; did you mean waves?`,
		`{stop: ""}`:                       "1:16: solver.stop: is empty: write all, first_green or waves",
		"{stop: [waves]}":                  "1:16: solver.stop: must be text",
		"{waves: [{modls: [gpt-5-mini]}]}": "solver.waves.0.modls: unknown key; did you mean models?",
		"{waves: [{}, {models: [gpt-5-mini, gpt-6]}]}":                `solver.waves.1.models.1: "gpt-6" is not one of the configured models`,
		"{waves: [{strategies: [plan]}]}":                             `solver.waves.0.strategies.0: "plan" is not one of the configured strategies; did you mean plain?`,
		"{waves: [{temps: [3]}]}":                                     `solver.waves.0.temps.0: "3" is not a temperature`,
		"{waves: [{repeat: 21}]}":                                     `solver.waves.0.repeat: "21" is out of range`,
		"{waves: [{repeat: -1}]}":                                     "solver.waves.0.repeat:",
		"{max_experiments: 1, waves: [{}, {}]}":                       "solver.waves: has 2 waves, and a solve has at most 1 experiments (solver.max_experiments)",
		"{profiles: {cheap: {stop: first-green}}}":                    `solver.profiles.cheap.stop: "first-green" is no stop rule`,
		"{stop: first_green, profiles: {whole: {stop: all}}}":         "",
		"{stop: waves, waves: [{models: [gpt-5-mini]}, {repeat: 2}]}": "",
	} {
		_, err := server.Parse("c.yml", []byte("solver: "+text+"\n"), noEnv)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestLocalRequestsAreHeldAgainstTheWaves: the models of the waves must be ready, not
// those of a matrix that is not run.
func TestLocalRequestsAreHeldAgainstTheWaves(t *testing.T) {
	t.Parallel()
	cfg, err := server.Parse("c.yml", []byte("solver: {defaults: {models: [gpt-5-mini]}, waves: [{models: [claude-haiku-4-5]}]}\n"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	problems := func(r solve.Request) string {
		var out []string
		cfg.CheckRequest(r, false, noEnv, func(key, problem string) { out = append(out, key+": "+problem) })
		return strings.Join(out, "\n")
	}
	if got := problems(solve.Request{Stop: solve.StopWaves}); !strings.Contains(got, "claude-haiku-4-5") || strings.Contains(got, "gpt-5-mini") {
		t.Errorf("waves: %s", got)
	}
	if got := problems(solve.Request{Stop: "x"}); !strings.Contains(got, "stop: \"x\" is no stop rule") || !strings.Contains(got, "gpt-5-mini") {
		t.Errorf("all: %s", got)
	}
}
