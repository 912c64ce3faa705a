package presets_test

import (
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/presets"
)

func byName(t *testing.T, name string) command.Program {
	t.Helper()
	all := presets.All()
	i := slices.IndexFunc(all, func(p command.Program) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no preset %s", name)
	}
	return all[i]
}

// Every package that an install may bring has a hash.
func TestLocksPinEverything(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]string{
		"claude-code": {"@anthropic-ai/claude-code": "2.1.197", "@anthropic-ai/claude-code-linux-x64": "2.1.197", "@anthropic-ai/claude-code-linux-arm64": "2.1.197"},
		"codex":       {"@openai/codex": "0.169.0", "@openai/codex-linux-x64": "0.169.0-linux-x64", "@openai/codex-linux-arm64": "0.169.0-linux-arm64"},
		"opencode":    {"opencode-linux-x64": "1.18.33", "opencode-linux-x64-baseline": "1.18.33"},
	} {
		p := byName(t, name)
		i := slices.IndexFunc(p.Install.Files, func(f agent.File) bool { return path.Base(f.Path) == "package-lock.json" })
		if i < 0 || !strings.HasPrefix(p.Install.Files[i].Path, agent.InstallDir+"/"+name+"/") {
			t.Fatalf("%s: %+v", name, p.Install.Files)
		}
		var lock struct {
			Version  int `json:"lockfileVersion"`
			Packages map[string]struct {
				Version, Integrity string
				Dependencies       map[string]string
			}
		}
		if err := json.Unmarshal(p.Install.Files[i].Data, &lock); err != nil || lock.Version != 3 {
			t.Fatal(name, lock.Version, err)
		}
		for at, locked := range lock.Packages {
			if at != "" && !strings.HasPrefix(locked.Integrity, "sha512-") {
				t.Errorf("%s: %s: %+v", name, at, locked)
			}
		}
		for dependency, version := range want {
			if got := lock.Packages["node_modules/"+dependency].Version; got != version {
				t.Errorf("%s: %s is %q, want %s", name, dependency, got, version)
			}
		}
		if !strings.Contains(p.Install.Command, "npm ci") || !strings.Contains(p.Install.Command, "--ignore-scripts") || !slices.Equal(p.Install.Hosts, []string{"registry.npmjs.org"}) {
			t.Errorf("%s: %s from %q", name, p.Install.Command, p.Install.Hosts)
		}
	}
}

// The page names the versions that are locked.
func TestVersionsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2.1.197", "0.169.0", "1.18.33"} {
		if !strings.Contains(string(page), version) {
			t.Errorf("docs/agents.md lacks %s", version)
		}
	}
}

// What a program is started with holds neither the token, but for its variable, nor
// the task; and the model and the gateway wherever it may look for one.
func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		token   string
		api     string
		present []string
	}{
		"claude-code": {"ANTHROPIC_API_KEY", agent.APIMessages, []string{
			"ANTHROPIC_BASE_URL=http://gw.test/y", "ANTHROPIC_DEFAULT_HAIKU_MODEL=m\"1", "--model m\"1", "--max-turns 7", "BASH_MAX_TIMEOUT_MS=90000", "IS_SANDBOX=1",
			"CLAUDE_CODE_MAX_RETRIES=15", // the page says so, for the time that yudai is away
		}},
		"codex":    {"YUDAI_RUN_TOKEN", agent.APIResponses, []string{`model = "m\"1"`, `base_url = "http://gw.test/y/v1"`, `wire_api = "responses"`, "CODEX_HOME=/workspace/agent/codex", "\nrequest_max_retries = 8\n", "\nstream_max_retries = 5\n"}},
		"opencode": {"YUDAI_RUN_TOKEN", agent.APIChat, []string{`"baseURL":"http://gw.test/y/v1"`, `gateway/m"1`, "_BASH_DEFAULT_TIMEOUT_MS=90000", `"steps":7`, "openai-compatible", "{env:YUDAI_RUN_TOKEN}"}},
	} {
		p := byName(t, name)
		task := command.Task{
			Text: "the-task", API: want.api, Steps: 7, CommandTime: 90 * time.Second,
			Gateway: agent.GatewaySession{URL: "http://gw.test/y", Token: token, Model: `m"1`, APIs: []string{want.api}},
		}
		start, err := p.Prepare(task)
		if err != nil || p.APIs[0] != want.api {
			t.Fatal(p.APIs, err)
		}
		var all strings.Builder
		for _, f := range start.Files {
			if !strings.HasPrefix(f.Path, agent.RunDir+"/") {
				t.Errorf("%s: %s is outside of %s", name, f.Path, agent.RunDir)
			}
			all.WriteString(f.Path + "\n" + string(f.Data) + "\n")
		}
		all.WriteString(strings.Join(start.Argv, " ") + "\n")
		for key, value := range start.Env {
			if (value == token) != (key == want.token) {
				t.Errorf("%s: %s=%s", name, key, value)
			}
			if key != want.token {
				all.WriteString(key + "=" + value + "\n")
			}
		}
		text := all.String()
		if name == "opencode" {
			text = strings.ReplaceAll(text, `m\"1`, `m"1`)
		}
		for _, part := range want.present {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s:\n%s", name, part, text)
			}
		}
		if strings.Contains(text, token) || strings.Contains(text, "the-task") {
			t.Errorf("%s shows too much:\n%s", name, text)
		}
		// Without limits none are told.
		task.Steps, task.CommandTime = 0, 0
		start, err = p.Prepare(task)
		if err != nil || slices.Contains(start.Argv, "--max-turns") || start.Env["BASH_MAX_TIMEOUT_MS"]+start.Env["OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS"] != "" || strings.Contains(start.Env["OPENCODE_CONFIG_CONTENT"], `"steps"`) {
			t.Errorf("%s without limits: %+v, %v", name, start, err)
		}
	}
}

// opencode speaks whatever the model offers.
func TestOpencodeSpeaksAllAPIs(t *testing.T) {
	t.Parallel()
	for api, kit := range map[string]string{agent.APIChat: "@ai-sdk/openai-compatible", agent.APIResponses: "@ai-sdk/openai", agent.APIMessages: "@ai-sdk/anthropic"} {
		start, err := byName(t, "opencode").Prepare(command.Task{API: api, Gateway: agent.GatewaySession{URL: "http://gw.test", Model: "m"}})
		if err != nil || !strings.Contains(start.Env["OPENCODE_CONFIG_CONTENT"], `"npm":"`+kit+`"`) {
			t.Error(api, start.Env["OPENCODE_CONFIG_CONTENT"], err)
		}
	}
}
