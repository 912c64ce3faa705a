package server_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/server"
)

// examples are the configurations in docs/agents.md that a test is promised for.
func examples(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)<!-- example.*?-->\n```yaml\n(.*?)```\n<!-- end of example -->").FindAllStringSubmatch(string(page), -1) {
		out = append(out, m[1])
	}
	return out
}

func TestExamplesOfAgentsAreRight(t *testing.T) {
	t.Parallel()
	all := examples(t)
	if len(all) != 2 {
		t.Fatalf("%d examples", len(all))
	}
	var names []string
	for _, text := range all {
		cfg, err := server.Parse("agents.md", []byte(text), noEnv)
		if err != nil {
			t.Error(err)
			continue
		}
		names = append(names, cfg.Agents.Commands[0].Name)
		if !slices.Contains(server.AgentNames(cfg), cfg.Agents.Commands[0].Name) {
			t.Errorf("agents are %v", server.AgentNames(cfg))
		}
	}
	if !slices.Equal(names, []string{"tiny", "my-agent"}) {
		t.Error(names)
	}
}

// Every built-in name is an agent, the manual and the page name it, and a request with
// one of the operator's own is understood.
func TestAgentsByName(t *testing.T) {
	t.Parallel()
	cfg := server.Default()
	if got := server.AgentNames(cfg); !slices.Equal(got, command.Builtin()) {
		t.Errorf("agents are %v, built in are %v", got, command.Builtin())
	}
	for _, file := range []string{"../docs/agents.md", "../docs/configuration.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range command.Builtin() {
			if !strings.Contains(string(page), name) {
				t.Errorf("%s does not name %s", file, name)
			}
		}
	}
	_, err := server.Parse("c.yml", []byte("agents: {commands: [{name: mine, apis: [chat], command: [x]}]}\nsolver: {defaults: {agents: [mini, mine]}}"), noEnv)
	if err != nil {
		t.Error(err)
	}
	_, err = server.Parse("c.yml", []byte("solver: {defaults: {agents: [mine, claude-cod]}}"), noEnv)
	if err == nil || !strings.Contains(err.Error(), "did you mean claude-code?") || !strings.Contains(err.Error(), `"mine" is not one of the configured agents`) {
		t.Error(err)
	}
}
