package presets

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
)

// ClaudeCode is Anthropic's Claude Code.
func ClaudeCode() command.Program {
	const name = "claude-code"
	return command.Program{
		Name: name, APIs: []string{agent.APIMessages},
		// Its own script only links the program of this platform to where it is started from.
		Install: install(name, `node node_modules/@anthropic-ai/claude-code/install.cjs
rm -rf node_modules/@anthropic-ai/claude-code-*
node_modules/.bin/claude --version
`),
		Prepare: func(t command.Task) (command.Start, error) {
			return command.Start{Argv: withTaskInput(claudeArgs(t)...), Env: claudeEnv(t), Path: []string{npmBin(name)}}, nil
		},
		Collect: collector(claudeEvent),
		Ended:   claudeEnded,
	}
}

// claudeArgs is the command line. User settings are those of an empty directory, so that none are read; the
// work tree as an additional directory brings its CLAUDE.md all the same.
func claudeArgs(t command.Task) []string {
	args := []string{
		"claude", "--print", "--output-format", "stream-json", "--verbose", "--model", t.Gateway.Model,
		"--dangerously-skip-permissions", "--no-session-persistence", "--no-chrome",
		"--setting-sources", "user", "--strict-mcp-config", "--add-dir", ".",
		// There is no web, nobody is there later, and the work has to stay in this tree.
		"--disallowed-tools", "WebFetch,WebSearch,EnterWorktree,ExitWorktree,CronCreate,CronDelete,CronList,ScheduleWakeup,Workflow",
	}
	if t.Steps > 0 {
		args = append(args, "--max-turns", strconv.Itoa(t.Steps))
	}
	return args
}

func claudeEnv(t command.Task) map[string]string {
	env := map[string]string{
		"ANTHROPIC_BASE_URL": t.Gateway.URL,
		"ANTHROPIC_API_KEY":  t.Gateway.Token,
		"CLAUDE_CONFIG_DIR":  agent.RunDir + "/claude",
		"IS_SANDBOX":         "1", // else it refuses to go without permissions as root
		"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC":     "1", // updates, telemetry, reports
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY":              "1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS":         "1",
		"CLAUDE_CODE_MAX_RETRIES":                      "15", // some minutes: yudai may be restarting
		"DISABLE_AUTOUPDATER":                          "1",
		"DISABLE_TELEMETRY":                            "1",
		"DISABLE_ERROR_REPORTING":                      "1",
	}
	for _, small := range []string{
		"ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
		"ANTHROPIC_DEFAULT_FABLE_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL",
	} {
		env[small] = t.Gateway.Model
	}
	if t.CommandTime > 0 {
		ms := strconv.FormatInt(int64(t.CommandTime/time.Millisecond), 10)
		env["BASH_DEFAULT_TIMEOUT_MS"], env["BASH_MAX_TIMEOUT_MS"] = ms, ms
	}
	return env
}

// claudeEvent turns one event into messages. Each block of a reply is an event of its own.
func claudeEvent(raw []byte) []agent.Message {
	var e struct {
		Type    string `json:"type"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Type != agent.RoleAssistant && e.Type != agent.RoleUser {
		return nil
	}
	var out []agent.Message
	reply := agent.Message{Role: agent.RoleAssistant}
	thought := ""
	for _, b := range blocksOf(e.Message.Content) {
		switch {
		case b.Type == "text" && e.Type == agent.RoleUser:
			out = append(out, agent.Message{Role: agent.RoleUser, Content: b.Text})
		case b.Type == "text":
			reply.Content = strings.TrimPrefix(reply.Content+"\n"+b.Text, "\n")
		case b.Type == "thinking":
			thought += b.Thinking
		case b.Type == "tool_use":
			reply.ToolCalls = append(reply.ToolCalls, agent.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		case b.Type == "tool_result":
			out = append(out, agent.Message{Role: agent.RoleTool, ToolCallID: b.ToolUseID, Content: command.TextOf(b.Content)})
		}
	}
	if reply.Content != "" || len(reply.ToolCalls) > 0 || thought != "" {
		out = append(out, thinking(reply, thought))
	}
	return out
}

// claudeResult is the last event.
type claudeResult struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	IsError bool   `json:"is_error"`
	Status  int    `json:"api_error_status"`
	Turns   int    `json:"num_turns"`
	Result  string `json:"result"`
}

func claudeEnded(ctx context.Context, box sandbox.Sandbox, e command.End) command.Outcome {
	var last *claudeResult
	for line := range eventsOf(e.Output) {
		var r claudeResult
		if json.Unmarshal(line, &r) == nil && r.Type == "result" {
			last = &r
		}
	}
	switch {
	case last == nil:
		return noResult(ctx, box, e, "Claude Code")
	case last.Subtype == "error_max_turns":
		return command.Outcome{
			Exit: agent.ExitLimits, Reason: fmt.Sprintf("Claude Code reached its limit of steps after %d turns", last.Turns),
		}
	case !last.IsError:
		reason := fmt.Sprintf("Claude Code finished after %d turns", last.Turns)
		return command.Outcome{Exit: agent.ExitSubmitted, Reason: reason, Submission: cut(last.Result)}
	case strings.Contains(strings.ToLower(last.Result), "prompt is too long"):
		return gaveUp("Claude Code", agent.StatusContext, last.Result)
	case last.Status != 0:
		return gaveUp("Claude Code", agent.StatusOf(last.Status), last.Result)
	case strings.Contains(last.Result, "API Error"):
		return gaveUp("Claude Code", agent.StatusConnection, last.Result)
	}
	return gaveUp("Claude Code", agent.ExitProgram, last.Subtype+" "+last.Result)
}
