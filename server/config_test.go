package server_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/internal/strictyaml"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/setup"
)

func noEnv(string) string { return "" }

// withoutClock leaves fields out that are no settings.
func withoutClock() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool {
		field, ok := p.Last().(cmp.StructField)
		if !ok {
			return false
		}
		f, _ := p.Index(-2).Type().FieldByName(field.Name())
		return f.Tag.Get("yaml") == "-"
	}, cmp.Ignore())
}

func TestEverythingWrongIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := server.Parse("config.yml", []byte(`server:
  adddress: 0.0.0.0:80
  shutdown_timeout: 15
  public_url: ftp://x
  label: [a]
gihub: {}
github:
  write:
    timeout: 0s
    lease: never
    per_hour: 3.5
  app: 5
solver:
  defaults:
    temps: [0.2, warm, 3]
    models: [gpt-5-mini, gpt-6]
    repeat: "1"
    agents:
  strategies:
    plain: 7
    plain: ""
  max_experiments: 0
  limits: {run_steps: -1, run_time: 1}
  branch: "no place"
  order: [files, luck]
  rule: smalest
  unproven: drafts
agent:
  mode: 1.0
  keep_output: 18446744073709551615
  "max_format_errors": yes
`), noEnv)
	var all *strictyaml.Error
	if !errors.As(err, &all) {
		t.Fatalf("err = %v", err)
	}
	got := strings.Split(err.Error(), "\n")
	for i, want := range []string{
		`config.yml:2:3: server.adddress: unknown key; did you mean address?`,
		`config.yml:3:21: server.shutdown_timeout: must be a time with its unit, like 90s, 20m or 1h30m`,
		`config.yml:4:15: server.public_url: "ftp://x" is not an http or https URL without user, query and fragment`,
		`config.yml:5:10: server.label: must be text`,
		`config.yml:6:1: gihub: unknown key; did you mean github?`,
		`config.yml:9:14: github.write.timeout: must be at least 1ms`,
		`config.yml:10:12: github.write.lease: must be a time with its unit, like 90s, 20m or 1h30m`,
		`config.yml:11:15: github.write.per_hour: must be a whole number`,
		`config.yml:12:8: github.app: must be keys and values`,
		`config.yml:15:18: solver.defaults.temps.1: must be a number`,
		`config.yml:15:24: solver.defaults.temps.2: "3" is not a temperature: they go from 0 to 2`,
		`config.yml:16:26: solver.defaults.models.1: "gpt-6" is not one of the configured models`,
		`config.yml:17:13: solver.defaults.repeat: must be a whole number`,
		`config.yml:18:12: solver.defaults.agents: must be a list, like [a, b]`,
		`config.yml:20:12: solver.strategies.plain: must be text: put it in quotes`,
		`config.yml:21:5: solver.strategies.plain: is given twice`,
		`config.yml:22:20: solver.max_experiments: is 0, must be at least 1`,
		`config.yml:23:23: solver.limits.run_steps: is -1, must be at least 0`,
		`config.yml:23:37: solver.limits.run_time: must be a time with its unit, like 90s, 20m or 1h30m`,
		`config.yml:24:11: solver.branch:`,
		`config.yml:25:3: solver.order: unknown criterion "luck"`,
		`config.yml:26:9: solver.rule: unknown rule "smalest": did you mean "smallest"?`,
		`config.yml:27:13: solver.unproven: unknown value "drafts": did you mean "draft"?`,
		`config.yml:29:9: agent.mode: must be text: put it in quotes`,
		`config.yml:30:16: agent.keep_output: must be a number of at most 2147483647`,
		`config.yml:31:24: agent.max_format_errors: must be a whole number`,
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("line %d: want %q, all:\n%s", i+1, want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 26 {
		t.Errorf("%d problems:\n%s", len(got), strings.Join(got, "\n"))
	}
}

func TestProblemsOutsideTheFileAndOfItsForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, want string
	}{
		"no YAML":             {"server:\n  address: [", "c.yml:2:12: not YAML: "},
		"a tab":               {"server:\n\taddress: x", "c.yml:2:1: not YAML: "},
		"a list":              {"- a", "c.yml:1:1: must be keys and values"},
		"a word":              {"hello", "c.yml:1:1: must be keys and values"},
		"two documents":       {"server: {}\n---\nagent: {}", "c.yml:3:6: a second document: write everything in one"},
		"anchor":              {"server: &a\n  label: x", "anchors, aliases and tags are not read here"},
		"alias":               {"server: {label: &x a, address: *x}", "c.yml:1:32: server.address: anchors, aliases and tags"},
		"merge":               {"server:\n  <<: {label: x}", "c.yml:2:3: server: not a plain key"},
		"tag":                 {"server: {label: !!str x}", "c.yml:1:17: server.label: anchors, aliases and tags"},
		"value without a key": {"server: {label: ~}", `c.yml:1:17: server.label: must be text; write "" for none`},
		"empty item":          {"solver: {defaults: {models: [~]}}", "solver.defaults.models.0: is empty"},
		"nearest parent":      {"github:\n  write: {lease: 1s}", "c.yml:2:18: github.write.lease: must be at least twice"},
		"parent of an absent": {"github:\n  write:\n    timeout: 1h", "c.yml:2:3: github.write.lease: must be at least twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := server.Parse("c.yml", []byte(tt.text), noEnv)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFileLiesOverTheDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := server.Parse("c.yml", []byte(`
# A file of a few keys.
server:
  label: "fix: it"
github: # nothing set here
  write:
solver:
  defaults:
    models: [claude-haiku-4-5]
    temps: [1]
  strategies:
    plain: ""
    mine: |
      Two
      lines.
  limits: {run_time: 1h30m, solve_time: 0, run_usd: 3}
`), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := server.Default()
	want.Server.Label = "fix: it"
	want.Solver.Defaults.Models, want.Solver.Defaults.Temps = []string{"claude-haiku-4-5"}, []float64{1}
	want.Solver.Strategies = map[string]string{"plain": "", "mine": "Two\nlines.\n"}
	want.Solver.Limits.RunTime, want.Solver.Limits.SolveTime, want.Solver.Limits.RunUSD = 90*time.Minute, 0, 3
	if diff := cmp.Diff(want, cfg, withoutClock()); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentLiesOverTheFile(t *testing.T) {
	t.Parallel()
	env := map[string]string{"GITHUB_WEB_URL": "https://ghe.example", "GITHUB_V3_API_URL": "https://ghe.example/api/v3", "YUDAI_SERVER_ADDRESSES": "x"}
	cfg, err := server.Parse("c.yml", []byte("github: {web_url: https://other.example}"), func(k string) string { return env[k] })
	if err != nil || cfg.GitHub.WebURL != env["GITHUB_WEB_URL"] || cfg.GitHub.V3APIURL != env["GITHUB_V3_API_URL"] || cfg.Server.Address != server.Default().Server.Address {
		t.Errorf("%+v %+v, %v", cfg.GitHub, cfg.Server, err)
	}
	env["GITHUB_V3_API_URL"] = "nonsense"
	_, err = server.Parse("c.yml", []byte("github: {v3_api_url: https://other.example}"), func(k string) string { return env[k] })
	if err == nil || !strings.HasPrefix(err.Error(), "GITHUB_V3_API_URL: github.v3_api_url: ") {
		t.Errorf("err = %v", err)
	}
}

// The variables of the providers' own clients name their servers.
func TestServersOfModels(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k"}
	getenv := func(k string) string { return env[k] }
	const two = "models: {models: [{name: a, provider: openai}, {name: b, provider: openai, base_url: \"http://b\"}, {name: c, provider: anthropic}]}"
	cfg, err := server.Parse("c.yml", []byte(two), getenv)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range cfg.Models.Models {
		got = append(got, e.BaseURL+" "+e.APIKeyEnv)
	}
	if diff := cmp.Diff([]string{"http://127.0.0.1:9/v1 OPENAI_API_KEY", "http://b ", " "}, got); diff != "" {
		t.Error(diff)
	}
	env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_API_KEY"] = "http://127.0.0.1:8", "k"
	cfg, err = server.Parse("c.yml", []byte(two), getenv)
	if e := cfg.Models.Models[2]; err != nil || e.BaseURL+" "+e.APIKeyEnv != "http://127.0.0.1:8 ANTHROPIC_API_KEY" {
		t.Errorf("%+v, %v", e, err)
	}
	cfg.SetEndpoint("http://c/v1", []string{"qwen:7b"}, getenv)
	want := []model.Entry{{Name: "qwen:7b", Provider: model.OpenAI, BaseURL: "http://c/v1", APIKeyEnv: "OPENAI_API_KEY"}}
	if diff := cmp.Diff(want, cfg.Models.Models); diff != "" || cfg.Solver.Defaults.Models[0] != "qwen:7b" {
		t.Error(cfg.Solver.Defaults.Models, diff)
	}
	env["OPENAI_BASE_URL"] = "nonsense"
	if _, err = server.Parse("c.yml", nil, getenv); err == nil || !strings.HasPrefix(err.Error(), "OPENAI_BASE_URL: models.models.0.base_url: ") {
		t.Errorf("%v", err)
	}
}

// A file that lists its models needs no names of defaults.
func TestDefaultsFollowTheModels(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"models: {models: [{name: mine, provider: scripted, script: x}]}":                                                 {"mine"},
		"models: {models: [{name: a, provider: openai}, {name: b, provider: openai}, {name: c, provider: openai}]}":       {"a", "b"},
		"models: {models: [{name: a, provider: openai}, {name: b, provider: openai}]}\nsolver: {defaults: {models: [b]}}": {"b"},
		"models: {attempts: 3}": server.Default().Solver.Defaults.Models,
	} {
		cfg, err := server.Parse("c.yml", []byte(file), noEnv)
		if err != nil || !slices.Equal(cfg.Solver.Defaults.Models, want) {
			t.Errorf("%s: %v, %v", file, cfg.Solver.Defaults.Models, err)
		}
	}
}

func TestLoadFindsTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cfg, err := server.Load("", noEnv)
	if diff := cmp.Diff(server.Default(), cfg, withoutClock()); diff != "" || err != nil {
		t.Errorf("no file: %v %s", err, diff)
	}
	if _, err := server.Load("other.yml", noEnv); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a named file that is missing: %v", err)
	}
	if err := os.WriteFile("config.yml", []byte("server: {label: mine}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err = server.Load("", noEnv); err != nil || cfg.Server.Label != "mine" {
		t.Errorf("config.yml here: %q %v", cfg.Server.Label, err)
	}
	large := filepath.Join(dir, "large.yml")
	if err := os.WriteFile(large, []byte(strings.Repeat("# x\n", 1<<19)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Load(large, noEnv); err == nil || !strings.Contains(err.Error(), "are the most") {
		t.Errorf("a large file: %v", err)
	}
}

func TestAPITokenComesFromEnvironmentOrFile(t *testing.T) {
	t.Parallel()
	const long = "0123456789abcdef"
	files := map[string]string{"token": long + "\n", "empty": " \n", "short": "abc"}
	read := func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return []byte(data), nil
		}
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	for name, tt := range map[string]struct {
		env, file string
		want, err string
	}{
		"none":             {"", "", "", ""},
		"environment":      {long + "E", "", long + "E", ""},
		"file":             {"", "token", long, ""},
		"environment wins": {long + "E", "token", long + "E", ""},
		"no such file":     {"", "nowhere", "", "server.api_token_file"},
		"empty file":       {"", "empty", "", "is empty"},
		"short":            {"abc", "", "", "YUDAI_API_TOKEN has 3 characters; it must have 16 or more"},
		"short in a file":  {"", "short", "", "short has 3 characters"},
	} {
		l := server.Default().Server
		l.APITokenFile = tt.file
		got, err := l.APIToken(func(k string) string { return map[string]string{"YUDAI_API_TOKEN": tt.env}[k] }, read)
		if got.Reveal() != tt.want || (err == nil) != (tt.err == "") || (err != nil && !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %q, %v", name, got.Reveal(), err)
		}
		if err != nil && strings.Contains(err.Error(), "abc") {
			t.Errorf("%s: the token is in the error: %v", name, err)
		}
	}
}

func TestServerSectionIsChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"address: nowhere":        "server.address: \"nowhere\" is not host:port",
		"label: ' '":              "server.label: is blank",
		"api_token_env: s3cr-et":  "server.api_token_env: must be the name of an environment variable",
		"shutdown_timeout: -1s":   "server.shutdown_timeout: must be at least 1ms",
		"public_url: http://u@x":  "server.public_url: ",
		"public_url: example.org": "server.public_url: ",
	} {
		_, err := server.Parse("c.yml", []byte("server:\n  "+text), noEnv)
		if err == nil || !strings.Contains(err.Error(), want) || (strings.Contains(text, "s3cr") && strings.Contains(err.Error(), "s3cr")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzConfig: no bytes make reading panic, every problem has a text and a place in
// the file, and what is accepted passes its own checks.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"", "server: {address: ':0'}", "solver:\n  defaults:\n    temps: [0.1, x]\n", "a: &a [*a]", "? x\n: y", "server:\n  label: |\n    x\n", "- 1\n---\n{", "solver: {strategies: {1: a, ~: b}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := server.Parse("c.yml", data, noEnv)
		var all *strictyaml.Error
		if err != nil && !errors.As(err, &all) {
			t.Fatalf("another error: %v", err)
		}
		if err == nil {
			cfg.Validate(func(key, problem string) { t.Errorf("accepted: %s: %s", key, problem) })
			return
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 2
		for _, p := range all.Problems {
			if p.Text == "" || p.Line < 0 || p.Line > lines {
				t.Errorf("%+v in a file of %d lines", p, lines)
			}
		}
	})
}

func TestTokenSettingNamesTheVariable(t *testing.T) {
	t.Parallel()
	l := server.Default().Server
	if got := server.TokenSetting(l); !strings.Contains(got, "YUDAI_API_TOKEN") || !strings.Contains(got, "server.api_token_file") {
		t.Error(got)
	}
	l.APITokenEnv = ""
	if got := server.TokenSetting(l); strings.Contains(got, "variable") || !strings.Contains(got, "server.api_token_env") {
		t.Error(got)
	}
}

// TestRetiredKey: a key that an earlier version read stops nobody. It is told, by the doctor, too.
func TestRetiredKey(t *testing.T) {
	t.Parallel()
	text := []byte("solver:\n  tests:\n    require_fix: false\n    tries: 3\n")
	cfg, err := server.Parse("c.yml", text, noEnv)
	if err != nil || cfg.Solver.Tests.Tries != 3 {
		t.Fatalf("%v, %+v", err, cfg.Solver.Tests)
	}
	const want = "c.yml:3:18: solver.tests.require_fix: has no effect any more: remove it. "
	if len(cfg.Notices) != 1 || !strings.HasPrefix(cfg.Notices[0], want) {
		t.Errorf("notices %q", cfg.Notices)
	}
	file := filepath.Join(t.TempDir(), "c.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := server.NewDoctor(file, noEnv).Config; f.Level != setup.Warn || !strings.Contains(f.Text, "require_fix: has no effect any more") {
		t.Errorf("the doctor says %+v", f)
	}
	_, err = server.Parse("c.yml", []byte("solver: {tests: {require_fix: true, require_fixes: 1}}"), noEnv)
	if err == nil || strings.Contains(err.Error(), "require_fix:") || !strings.Contains(err.Error(), "require_fixes: unknown key") {
		t.Errorf("beside a wrong key: %v", err)
	}
	if cfg, err := server.Parse("c.yml", nil, noEnv); err != nil || len(cfg.Notices) > 0 {
		t.Errorf("without the key: %v, %q", err, cfg.Notices)
	}
}
