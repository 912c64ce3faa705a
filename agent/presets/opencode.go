package presets

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
)

// Opencode is opencode, of the project of that name.
func Opencode() command.Program {
	const name = "opencode"
	return command.Program{
		Name: name, APIs: []string{agent.APIChat, agent.APIResponses, agent.APIMessages},
		// Only the packages with the builds are locked. The package around them picks one of
		// them, and would fetch a missing one without a lock.
		Install: install(name, `case $(uname -m) in
x86_64) if grep -qw avx2 /proc/cpuinfo; then build=x64; else build=x64-baseline; fi ;;
*) echo "opencode is locked for x86_64 only, this machine is $(uname -m)" >&2; exit 1 ;;
esac
if [ ! -f "node_modules/opencode-linux-$build/bin/opencode" ]; then
	echo "npm did not install opencode-linux-$build" >&2
	exit 1
fi
mkdir -p bin
mv "node_modules/opencode-linux-$build/bin/opencode" bin/opencode
rm -rf node_modules
bin/opencode --version
`),
		Prepare: func(t command.Task) (command.Start, error) {
			return command.Start{
				Argv: withTaskInput(
					"opencode", "run", "--format", "json", "--auto", "--pure", "--title", "task", "--model", "gateway/"+t.Gateway.Model,
				),
				Env:  opencodeEnv(t),
				Path: []string{agent.InstallDir + "/" + name + "/bin"},
			}, nil
		},
		Collect: collector(opencodeEvent),
		Ended:   opencodeEnded,
	}
}

func opencodeEnv(t command.Task) map[string]string {
	env := map[string]string{
		tokenEnv:                                    t.Gateway.Token,
		"OPENCODE_CONFIG_CONTENT":                   opencodeConfig(t),
		"OPENCODE_DB":                               agent.RunDir + "/opencode.db",
		"OPENCODE_DISABLE_PROJECT_CONFIG":           "1", // its instructions are named in the config
		"OPENCODE_DISABLE_MODELS_FETCH":             "1",
		"OPENCODE_DISABLE_AUTOUPDATE":               "1",
		"OPENCODE_DISABLE_SHARE":                    "1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD":             "1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS":          "1",
		"OPENCODE_DISABLE_EMBEDDED_WEB_UI":          "1",
		"OPENCODE_DISABLE_EXTERNAL_SKILLS":          "1",
		"OPENCODE_DISABLE_CLAUDE_CODE":              "1",
		"OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "1",
	}
	if t.CommandTime > 0 {
		env["OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS"] = strconv.FormatInt(int64(t.CommandTime/time.Millisecond), 10)
	}
	return env
}

// opencodeConfig takes precedence over every configuration file.
func opencodeConfig(t command.Task) string {
	kit := map[string]string{ // all of them are built in
		agent.APIChat: "@ai-sdk/openai-compatible", agent.APIResponses: "@ai-sdk/openai", agent.APIMessages: "@ai-sdk/anthropic",
	}[t.API]
	model := "gateway/" + t.Gateway.Model
	config := map[string]any{
		"autoupdate": false, "share": "disabled", "snapshot": false, "model": model, "small_model": model,
		"enabled_providers": []string{"gateway"},
		"instructions":      []string{sandbox.RepoDir + "/AGENTS.md", sandbox.RepoDir + "/CLAUDE.md"},
		"permission":        map[string]string{"*": "allow"},
		"tools":             map[string]bool{"webfetch": false, "websearch": false},
		"provider": map[string]any{"gateway": map[string]any{
			"npm": kit, "name": "gateway",
			"options": map[string]any{"baseURL": t.Gateway.URL + "/v1", "apiKey": "{env:" + tokenEnv + "}"},
			"models":  map[string]any{t.Gateway.Model: map[string]any{"name": t.Gateway.Model}},
		}},
	}
	if t.Steps > 0 {
		config["agent"] = map[string]any{"build": map[string]any{"steps": t.Steps}}
	}
	return agent.JSON(config)
}

// opencodeEvent turns one event into messages. A call and its result are one event.
func opencodeEvent(raw []byte) []agent.Message {
	var e struct {
		Type string `json:"type"`
		Part struct {
			Text   string `json:"text"`
			Tool   string `json:"tool"`
			CallID string `json:"callID"`
			State  struct {
				Input    json.RawMessage `json:"input"`
				Output   string          `json:"output"`
				Error    string          `json:"error"`
				Metadata struct {
					Exit *int `json:"exit"`
				} `json:"metadata"`
			} `json:"state"`
		} `json:"part"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return nil
	}
	p := e.Part
	switch e.Type {
	case "text":
		return []agent.Message{{Role: agent.RoleAssistant, Content: p.Text}}
	case "reasoning":
		return []agent.Message{thinking(agent.Message{Role: agent.RoleAssistant}, p.Text)}
	case "tool_use":
		seen := agent.Message{Role: agent.RoleTool, ToolCallID: p.CallID, Content: p.State.Output + p.State.Error}
		if p.State.Metadata.Exit != nil {
			seen.Extra = map[string]any{"returncode": *p.State.Metadata.Exit}
		}
		return []agent.Message{
			{Role: agent.RoleAssistant, ToolCalls: []agent.ToolCall{{ID: p.CallID, Name: p.Tool, Arguments: string(p.State.Input)}}},
			seen,
		}
	}
	return nil
}

// opencodeProblem is the error of an event.
type opencodeProblem struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Status  int    `json:"statusCode"`
	} `json:"data"`
}

func opencodeEnded(ctx context.Context, box sandbox.Sandbox, e command.End) command.Outcome {
	var problem *opencodeProblem
	said, reason := "", ""
	for line := range eventsOf(e.Output) {
		var v struct {
			Type  string           `json:"type"`
			Error *opencodeProblem `json:"error"`
			Part  struct {
				Text   string `json:"text"`
				Reason string `json:"reason"`
			} `json:"part"`
		}
		if json.Unmarshal(line, &v) != nil {
			continue
		}
		switch v.Type {
		case "error":
			problem = v.Error
		case "text":
			said = v.Part.Text
		case "step_finish":
			reason = v.Part.Reason
		}
	}
	switch {
	case problem != nil && problem.Name == "ContextOverflowError":
		return gaveUp("opencode", agent.StatusContext, problem.Data.Message)
	case problem != nil && problem.Data.Status != 0:
		return gaveUp("opencode", agent.StatusOf(problem.Data.Status), problem.Data.Message)
	case problem != nil:
		return gaveUp("opencode", agent.ExitProgram, fmt.Sprintf("%s %s", problem.Name, problem.Data.Message))
	case reason == "stop" && e.ExitCode == 0:
		return command.Outcome{Exit: agent.ExitSubmitted, Reason: "opencode finished", Submission: cut(said)}
	case reason == "length":
		return gaveUp("opencode", agent.ExitProgram, "the model's last reply was cut off")
	}
	return noResult(ctx, box, e, "opencode")
}
