package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

// TestStatusTellsTheWaves: where the solve stands, and what was not needed.
func TestStatusTellsTheWaves(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	plan := solve.Plan{Stop: solve.StopWaves, Experiments: []solve.Experiment{{Model: "a", Wave: 1, Repeat: 2}, {Model: "a", Wave: 3, Repeat: 1}}}
	s.solves = []solve.Solve{{ID: "cnv8q5k6n88s73a1e0h0", State: solve.StateReducing, Plan: plan, Wave: 1, Created: noon()}}
	s.runs = []solve.Run{
		{N: 1, Experiment: plan.Experiments[0], State: solve.RunPassed, Attempt: 1, Progress: solve.Progress{Usage: solve.Usage{Calls: 1, Cost: 250_000}}},
		{N: 2, Experiment: plan.Experiments[1], State: solve.RunCancelled, NotNeeded: true, Reason: "not needed: run 1 passed in wave 1"},
	}
	var got struct {
		Stop        string
		Wave, Waves int
		Saved       map[string]any
		Experiments []map[string]any
	}
	s.call(t, "GET", "/solve/cnv8q5k6n88s73a1e0h0/status", "", nil, &got)
	if got.Stop != "waves" || got.Wave != 1 || got.Waves != 3 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[string]any{"not_run": 1.0, "stopped": 0.0, "usd": 0.25}, got.Saved); diff != "" {
		t.Error(diff)
	}
	for i, want := range []map[string]any{
		{"wave": 1.0, "repeat": 2.0, "state": "passed", "not_needed": nil},
		{"wave": 3.0, "repeat": 1.0, "state": "cancelled", "not_needed": true, "reason": "not needed: run 1 passed in wave 1"},
	} {
		for key, value := range want {
			if got.Experiments[i][key] != value {
				t.Errorf("run %d: %s is %v, want %v", i+1, key, got.Experiments[i][key], value)
			}
		}
	}
}

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
		"{waves: [{temps: [3]}]}":                                     `solver.waves.0.temps.0: "3" is no temperature`,
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
