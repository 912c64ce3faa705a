package presets

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
)

// codexHome is where Codex keeps its state.
const codexHome = agent.RunDir + "/codex"

// Codex is OpenAI's Codex CLI.
func Codex() command.Program {
	const name = "codex"
	return command.Program{
		Name: name, APIs: []string{agent.APIResponses},
		Install: install(name, "node_modules/.bin/codex --version\n"),
		Prepare: func(t command.Task) (command.Start, error) {
			return command.Start{
				Files: []agent.File{{Path: codexHome + "/config.toml", Data: []byte(codexConfig(t)), Mode: 0o600}},
				Argv: withTaskInput("codex", "exec", "--json", "--color", "never", "--ephemeral", "--skip-git-repo-check", "--ignore-rules",
					"--dangerously-bypass-approvals-and-sandbox", "-"),
				Env:  map[string]string{"CODEX_HOME": codexHome, tokenEnv: t.Gateway.Token},
				Path: []string{npmBin(name)},
			}, nil
		},
		Collect: collector(codexEvent),
		Ended:   codexEnded,
	}
}

// codexConfig is the only configuration that Codex reads: it reads the repository's only in
// projects that a person called trusted. With a provider of its own it does not try a
// WebSocket first. It tries broken requests again for about five minutes, because yudai may
// be restarting; refused ones (401) count as broken streams, of which five are enough.
func codexConfig(t command.Task) string {
	model, url := agent.JSON(t.Gateway.Model), agent.JSON(t.Gateway.URL+"/v1") // JSON's strings are TOML's
	return `model = ` + model + `
review_model = ` + model + `
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
allow_login_shell = false
web_search = "disabled"
hide_agent_reasoning = false

[model_providers.gateway]
name = "gateway"
base_url = ` + url + `
env_key = "` + tokenEnv + `"
wire_api = "responses"
request_max_retries = 8
stream_max_retries = 5

[history]
persistence = "none"

[analytics]
enabled = false

[feedback]
enabled = false

[features]
apps = false
plugins = false
`
}

// codexItem is what an event is about.
type codexItem struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Text     string `json:"text"`
	Message  string `json:"message"`
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`
	Status   string `json:"status"`
}

// codexEvent turns one event into messages: the start of an item is a call, its end the
// observation.
func codexEvent(raw []byte) []agent.Message {
	var e struct {
		Type string          `json:"type"`
		Item json.RawMessage `json:"item"`
	}
	var it codexItem
	if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e.Item, &it) != nil {
		return nil
	}
	started, completed := e.Type == "item.started", e.Type == "item.completed"
	switch {
	case completed && it.Type == "agent_message":
		return []agent.Message{{Role: agent.RoleAssistant, Content: it.Text}}
	case completed && it.Type == "reasoning":
		return []agent.Message{thinking(agent.Message{Role: agent.RoleAssistant}, it.Text)}
	case completed && it.Type == "error":
		return []agent.Message{{Role: agent.RoleOutput, Content: it.Message}}
	case started && it.Type == "command_execution":
		args := agent.JSON(map[string]string{agent.ToolArgument: it.Command})
		return []agent.Message{{Role: agent.RoleAssistant, ToolCalls: []agent.ToolCall{{ID: it.ID, Name: agent.ToolName, Arguments: args}}}}
	case completed && it.Type == "command_execution":
		m := agent.Message{Role: agent.RoleTool, ToolCallID: it.ID, Content: it.Output}
		if it.ExitCode != nil {
			m.Extra = map[string]any{"returncode": *it.ExitCode}
		}
		return []agent.Message{m}
	case started:
		return []agent.Message{{Role: agent.RoleAssistant, ToolCalls: []agent.ToolCall{{ID: it.ID, Name: it.Type, Arguments: string(e.Item)}}}}
	case completed:
		return []agent.Message{{Role: agent.RoleTool, ToolCallID: it.ID, Content: strings.TrimSpace(it.Type + " " + it.Status)}}
	}
	return nil
}

func codexEnded(ctx context.Context, box sandbox.Sandbox, e command.End) command.Outcome {
	ended, problem, said := "", "", ""
	for line := range eventsOf(e.Output) {
		var v struct {
			Type  string    `json:"type"`
			Item  codexItem `json:"item"`
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &v) != nil {
			continue
		}
		switch {
		case v.Type == "turn.completed":
			ended = v.Type
		case v.Type == "turn.failed":
			ended, problem = v.Type, v.Error.Message
		case v.Type == "item.completed" && v.Item.Type == "agent_message":
			said = v.Item.Text
		}
	}
	switch ended {
	case "":
		return noResult(ctx, box, e, "Codex")
	case "turn.completed":
		return command.Outcome{Exit: agent.ExitSubmitted, Reason: "Codex finished", Submission: cut(said)}
	}
	status := agent.StatusConnection
	code := regexp.MustCompile(`\bstatus:? (\d{3})\b`).FindStringSubmatch(problem)
	switch {
	case strings.Contains(problem, "context window"):
		status = agent.StatusContext
	case code != nil:
		n, _ := strconv.Atoi(code[1]) // three digits
		status = agent.StatusOf(n)
	}
	return gaveUp("Codex", status, problem)
}
