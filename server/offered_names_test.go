package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/server"
)

func TestProfilesOfTheOperator(t *testing.T) {
	t.Parallel()
	cfg, err := server.Parse("c.yml", []byte(`solver:
  profiles:
    cheap: {label: "yudai:cheap", models: [gpt-5-mini], solve_usd: 1}
    quiet: {solve_time: 10m}
`), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	labels, prefix := server.Labels(cfg)
	if diff := cmp.Diff(map[string]string{"yudai:solve": "", "yudai:cheap": "cheap"}, labels); diff != "" || prefix != "yudai:" {
		t.Errorf("prefix %q %s", prefix, diff)
	}
	cfg.Server.Label = "solve-it"
	if _, prefix := server.Labels(cfg); prefix != "" {
		t.Errorf("a label without a colon has the prefix %q", prefix)
	}
	cfg.Server.Label, cfg.Solver.Repository.Read = "yudai:solve", false
	if _, prefix := server.Labels(cfg); prefix != "" {
		t.Errorf("labels of files that are not read have the prefix %q", prefix)
	}
}

func TestWrongProfilesOfTheOperator(t *testing.T) {
	t.Parallel()
	_, err := server.Parse("c.yml", []byte(`solver:
  profiles:
    a: {label: "yudai:solve", models: [gpt-5-min]}
    b: {label: x, solve_usd: 11}
    c: {label: X, strategies: [plain]}
    d: {}
    e: {repeats: 1, parallel: 1}
`), noEnv)
	want := `c.yml:3:16: solver.profiles.a.label: "yudai:solve" is the label of server.label already
c.yml:3:40: solver.profiles.a.models.0: "gpt-5-min" is not a configured model here; did you mean gpt-5-mini?
c.yml:4:30: solver.profiles.b.solve_usd: is $11.00, but at most $10.00 is allowed
c.yml:5:16: solver.profiles.c.label: "X" is the label of solver.profiles.b already
c.yml:6:5: solver.profiles.d: is empty, so it would change nothing: add models, temps, edits, strategies, agents, repeat, solve_usd, solve_time, parallel, sandbox or stop
c.yml:7:9: solver.profiles.e.repeats: unknown key; did you mean repeat?`
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
