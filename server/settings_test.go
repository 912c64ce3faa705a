package server_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/setup"
	"github.com/yudai-dev/yudai/web"
)

// inForce are the settings on the page, by key.
func inForce(cfg server.Config, getenv func(string) string) map[string]web.Setting {
	out := map[string]web.Setting{}
	for _, one := range server.InForce(cfg, getenv) {
		out[one.Key] = one
	}
	return out
}

// inEnvironment is an environment of these variables.
func inEnvironment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// TestWhereSettingsComeFrom: from nowhere, a line of the file, a variable, the file of the set-up, another key, the command.
func TestWhereSettingsComeFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yml")
	const app = "server: {public_url: https://yudai.example}\ngithub: {app: {integration_id: 7}}\n"
	for name, text := range map[string]string{
		"app.yml": app,
		"c.yml": "server:\n  label: yudai:solve\nsolver:\n  limits:\n    run_time: 10m\nstore: {path: " + dir + "/yudai.db}\n" +
			"models:\n  models:\n    - {name: mine, provider: openai}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := inEnvironment(map[string]string{
		"YUDAI_SOLVER_MAX_SOLVES": "9", "GITHUB_WEB_URL": "https://ghe.example", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
	})
	cfg, err := server.Load(file, env)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Sandbox.Local.AllowUnlimited = true // as a command does
	server.ByCommand(&cfg)
	got := inForce(cfg, env)
	for key, want := range map[string]web.Setting{
		"server.label":                  {Value: "yudai:solve", From: file + ", line 2"},
		"server.metrics":                {Value: "true", From: "default"},
		"solver.limits.run_time":        {Value: "10m", From: file + ", line 5", Default: "20m", Repository: "limits.run_time"},
		"solver.max_solves":             {Value: "9", From: "variable YUDAI_SOLVER_MAX_SOLVES", Default: "64"},
		"github.web_url":                {Value: "https://ghe.example", From: "variable GITHUB_WEB_URL", Default: "https://github.com"},
		"server.public_url":             {Value: "https://yudai.example", From: dir + "/app.yml", Default: `""`},
		"github.app.integration_id":     {Value: "7", From: dir + "/app.yml", Default: "0"},
		"sandbox.local.allow_unlimited": {Value: "true", From: "command line", Default: "false"},
		"solver.defaults.models":        {Value: "[mine]", From: "the first of models.models", Default: "[gpt-5-mini, claude-haiku-4-5]"},
		"sandbox.driver":                {Value: "local", From: "default", Repository: "sandbox"},
	} {
		want.Key = key
		if got[key] != want {
			t.Errorf("%+v, want %+v", got[key], want)
		}
	}
	if from := got["models.models"].From; from != file+", line 8, variable OPENAI_BASE_URL" {
		t.Errorf("models.models: %q", from)
	}
	cfg.Solver.Repository.Read = false
	if got := inForce(cfg, env)["sandbox.driver"].Repository; got != "" {
		t.Errorf("files of repositories are not read, and %s is said to count", got)
	}
}

// settingsPage is the page as an operator reads it.
func settingsPage(t *testing.T, cfg server.Config, getenv func(string) string) string {
	t.Helper()
	pages, err := web.New(web.Options{
		Settings: func() []web.Setting { return server.InForce(cfg, getenv) }, Now: time.Now,
		Doctor: server.NewCheckup(&setup.Doctor{}, strings.NewReplacer(), time.Now),
	})
	if err != nil {
		t.Fatal(err)
	}
	entered := httptest.NewRecorder()
	pages.ServeHTTP(entered, httptest.NewRequest(http.MethodGet, pages.PageLink("/"), http.NoBody))
	ask, got := httptest.NewRequest(http.MethodGet, "/settings?all=1", http.NoBody), httptest.NewRecorder()
	ask.Header.Set("Cookie", entered.Header().Get("Set-Cookie"))
	if pages.ServeHTTP(got, ask); got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	return got.Body.String()
}

// TestSettingsHoldNoSecret: wherever one was put, also by mistake, it is on no line; of its place the page says whether it is there.
func TestSettingsHoldNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "Canary5ecret0f7he0perator"
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(canary+"-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := server.Parse("c.yml", []byte(`
server: {api_token_env: `+canary+`_as_a_name, public_url: https://yudai.example/`+canary+`-usual}
github: {app: {webhook_secret_file: `+key+`, private_key_file: /nowhere/key.pem}}
models: {models: [{name: m, provider: openai, api_key_env: MY_KEY, base_url: "http://h/`+canary+`-env/v1"}, {name: n, provider: anthropic, api_key_file: `+key+`}]}
agents: {commands: [{name: mine, apis: [chat], command: [run, `+canary+`-file], env: {TOKEN: `+canary+`-table}}]}
solver: {tests: {install: "curl https://me:`+canary+`-address@h/x", command: "KEY=AKIAABCDEFGHIJKLMNOP make", install_env: {PIP_INDEX_URL: "https://`+canary+`-mirror"}}}
`), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	env := inEnvironment(map[string]string{"MY_KEY": canary + "-env", "OPENAI_API_KEY": canary + "-usual"})
	if html := settingsPage(t, cfg, env); strings.Contains(html, canary) || strings.Contains(html, "AKIA") || !strings.Contains(html, "MY_KEY (set)") {
		t.Errorf("the page tells:\n%s", html)
	}
	got := inForce(cfg, env)
	for name, want := range map[string]string{
		"models.models":                  "api_key_env: MY_KEY (set)",
		"github.app.webhook_secret_file": key + " (set)",
		"github.app.private_key_file":    "/nowhere/key.pem (not set)",
		"github.app.webhook_secret_env":  "GITHUB_APP_WEBHOOK_SECRET (not set)",
		"server.api_token_env":           "not shown: no variable of this name is set",
		"server.public_url":              "https://yudai.example/[secret]",
		"solver.tests.install":           "(not shown)",
		"solver.tests.command":           "(not shown)",
		"solver.tests.install_env":       "{PIP_INDEX_URL: (not shown)}",
		"agents.commands":                `[run, "[secret]"]`,
	} {
		if !strings.Contains(got[name].Value, want) {
			t.Errorf("%s: %q, want %q", name, got[name].Value, want)
		}
	}
}

// TestRepositoryKeysAreKeys: both names of each are in the pages that explain them.
func TestRepositoryKeysAreKeys(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/repository-config.md")
	if err != nil {
		t.Fatal(err)
	}
	known := inForce(server.Default(), noEnv)
	for key, theirs := range server.RepositoryKeys() {
		if known[key].Key == "" || !strings.Contains(string(page), "`"+theirs+"`") {
			t.Errorf("%s or %s is no key", key, theirs)
		}
	}
}
