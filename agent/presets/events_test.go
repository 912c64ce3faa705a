package presets_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/test/hostmachine"
	"github.com/yudai-dev/yudai/test/require"
)

// printed is a machine on which a program has printed something.
func printed(t *testing.T, output, errors string) *hostmachine.Machine {
	t.Helper()
	m := agenttest.Machine(t)
	for path, text := range map[string]string{command.OutputFile: output, agent.RunDir + "/errors.log": errors} {
		appendTo(t, m.Host(path), text)
	}
	return m
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// collected are the messages from a place on, without the events they come from.
func collected(t *testing.T, p command.Program, m *hostmachine.Machine, at int) ([]agent.Message, int) {
	t.Helper()
	messages, next, err := p.Collect(t.Context(), m, at)
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		delete(messages[i].Extra, "event")
		if len(messages[i].Extra) == 0 {
			messages[i].Extra = nil
		}
	}
	return messages, next
}

func call(id, name, arguments string) []agent.ToolCall {
	return []agent.ToolCall{{ID: id, Name: name, Arguments: arguments}}
}

func TestEventsBecomeMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program, output string
		want            []agent.Message
	}{
		"Claude Code": {"claude-code", `warning: no JSON
{"type":"system","subtype":"init","cwd":"/workspace/repo"}
{"type":"system","subtype":"api_retry","attempt":1}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"Hm.","signature":"s"}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"A look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]},{"type":"text","text":"go on"}]}}
{"type":"user","message":{"content":"plain"}}
{"type":"assistant","message":{"content":7}}
{"type":"result","subtype":"success"}
`, []agent.Message{
			{Role: "assistant", Extra: map[string]any{"reasoning": "Hm."}},
			{Role: "assistant", Content: "A look.", ToolCalls: call("t1", "Bash", `{"command":"ls"}`)},
			{Role: "tool", ToolCallID: "t1", Content: "a\nb"},
			{Role: "user", Content: "go on"},
			{Role: "user", Content: "plain"},
		}},
		"Codex": {"codex", `{"type":"thread.started","thread_id":"x"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"unknown model"}}
{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"Hm."}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"A look."}}
{"type":"item.started","item":{"id":"item_3","type":"command_execution","command":"/bin/bash -c 'ls <a>'","status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_3","type":"command_execution","command":"/bin/bash -c 'ls <a>'","aggregated_output":"no\n","exit_code":2,"status":"failed"}}
{"type":"item.started","item":{"id":"item_4","type":"file_change"}}
{"type":"item.completed","item":{"id":"item_4","type":"file_change","status":"completed"}}
{"type":"turn.completed"}
`, []agent.Message{
			{Role: "output", Content: "unknown model"},
			{Role: "assistant", Extra: map[string]any{"reasoning": "Hm."}},
			{Role: "assistant", Content: "A look."},
			{Role: "assistant", ToolCalls: call("item_3", "bash", `{"command":"/bin/bash -c 'ls <a>'"}`)},
			{Role: "tool", ToolCallID: "item_3", Content: "no\n", Extra: map[string]any{"returncode": 2}},
			{Role: "assistant", ToolCalls: call("item_4", "file_change", `{"id":"item_4","type":"file_change"}`)},
			{Role: "tool", ToolCallID: "item_4", Content: "file_change completed"},
		}},
		"opencode": {"opencode", `{"type":"step_start","part":{"type":"step-start"}}
{"type":"reasoning","part":{"text":"Hm."}}
{"type":"text","part":{"text":"A look."}}
{"type":"tool_use","part":{"tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"a\n","metadata":{"exit":0}}}}
{"type":"tool_use","part":{"tool":"edit","callID":"c2","state":{"status":"error","input":{"filePath":"a"},"error":"no such file"}}}
{"type":"step_finish","part":{"reason":"stop"}}
`, []agent.Message{
			{Role: "assistant", Extra: map[string]any{"reasoning": "Hm."}},
			{Role: "assistant", Content: "A look."},
			{Role: "assistant", ToolCalls: call("c1", "bash", `{"command":"ls"}`)},
			{Role: "tool", ToolCallID: "c1", Content: "a\n", Extra: map[string]any{"returncode": 0}},
			{Role: "assistant", ToolCalls: call("c2", "edit", `{"filePath":"a"}`)},
			{Role: "tool", ToolCallID: "c2", Content: "no such file"},
		}},
	} {
		got, _ := collected(t, byName(t, c.program), printed(t, c.output, ""), 0)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Each complete line is taken once, whoever asks.
func TestCollectGoesOn(t *testing.T) {
	t.Parallel()
	p := byName(t, "codex")
	say := func(text string) string {
		return `{"type":"item.completed","item":{"type":"agent_message","text":"` + text + `"}}`
	}
	m := printed(t, "", "")
	if got, at := collected(t, p, m, 0); got != nil || at != 0 {
		t.Error(got, at)
	}
	path := m.Host(command.OutputFile)
	appendTo(t, path, say("one")+"\n"+say("two")+"\n"+say("three")[:20])
	got, at := collected(t, p, m, 0)
	if len(got) != 2 || at != 2 {
		t.Error(got, at)
	}
	if got, again := collected(t, p, m, at); got != nil || again != at {
		t.Error(got, again)
	}
	appendTo(t, path, say("three")[20:]+"\n")
	if got, at = collected(t, p, m, at); len(got) != 1 || got[0].Content != "three" || at != 3 {
		t.Error(got, at)
	}
	if got, _ := collected(t, p, m, 1); len(got) != 2 {
		t.Error(got)
	}
}

// Long texts are cut, and an event without measure is left out; what follows is not lost.
func TestLongEvents(t *testing.T) {
	t.Parallel()
	require.Long(t)
	p := byName(t, "codex")
	say := func(n int) string {
		return `{"type":"item.completed","item":{"type":"agent_message","text":"` + strings.Repeat("ü", n/2) + `"}}` + "\n"
	}
	m := printed(t, say(300<<10)+say(5<<20)+strings.Repeat(say(3<<20), 7)+say(10), "")
	got, at := collected(t, p, m, 0)
	if len(got) != 9 || at != 10 || len(got[8].Content) != 10 {
		t.Fatal(len(got), at)
	}
	if n := len(got[0].Content); n > 257<<10 || !strings.HasSuffix(got[0].Content, "bytes left out]") {
		t.Error(n)
	}
	if n := size(got); n > 9*(270<<10) {
		t.Error(n)
	}
}

// size is how many bytes messages have.
func size(messages []agent.Message) int {
	n := 0
	for _, m := range messages {
		data, _ := json.Marshal(m)
		n += len(data)
	}
	return n
}

// TestManyEvents: however much a program has written, not all of it is held at once.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	require.Long(t)
	const events, long = 200, 200_000
	p := byName(t, "opencode")
	m := printed(t, strings.Repeat(`{"type":"text","part":{"text":"`+strings.Repeat("x", long)+`"}}`+"\n", events), "")
	at, n := 0, 0
	for {
		messages, next, err := p.Collect(t.Context(), m, at)
		if err != nil {
			t.Fatal(err)
		}
		if all := size(messages); all > 21<<20 {
			t.Fatalf("%d bytes at once", all)
		}
		if next == at {
			break
		}
		at, n = next, n+len(messages)
	}
	if n != events {
		t.Errorf("%d of %d events", n, events)
	}
}

// TestEventOfManyTexts: the texts of one event that has many count, each of them.
func TestEventOfManyTexts(t *testing.T) {
	t.Parallel()
	const events, blocks, long = 10, 15, 256 << 10
	p := byName(t, "claude-code")
	text := strings.Repeat("x", long)
	for kind, block := range map[string]string{
		"texts": `{"type":"text","text":"` + text + `"}`, "calls": `{"type":"tool_use","input":"` + text + `"}`,
	} {
		role := map[string]string{"texts": "user", "calls": "assistant"}[kind]
		event := `{"type":"` + role + `","message":{"content":[` + strings.Repeat(block+",", blocks-1) + block + "]}}\n"
		messages, at, err := p.Collect(t.Context(), printed(t, strings.Repeat(event, events), ""), 0)
		if err != nil {
			t.Fatal(err)
		}
		if all := size(messages); all > 21<<20 || at == 0 || at == events {
			t.Errorf("%s: %d of %d events, %d bytes at once", kind, at, events, all)
		}
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program, output, errors string
		code                    int
		exit, reason, said      string
	}{
		"Claude Code": {
			"claude-code", `cut off","type":"result"}` + "\n" + `{"type":"result","subtype":"success","is_error":false,"num_turns":5,"result":"Done."}` + "\n", "", 0,
			agent.ExitSubmitted, "Claude Code finished after 5 turns", "Done.",
		},
		"Claude Code, turns": {"claude-code", `{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3}` + "\n", "", 1, agent.ExitLimits, "limit of steps", ""},
		"Claude Code, 401":   {"claude-code", `{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"API Error: 401 no"}` + "\n", "", 1, "AuthenticationError", "API Error: 401 no", ""},
		"Claude Code, lost":  {"claude-code", `{"type":"result","is_error":true,"api_error_status":null,"result":"API Error: Unable to connect"}` + "\n", "", 1, "APIConnectionError", "Unable to connect", ""},
		"Claude Code, full":  {"claude-code", `{"type":"result","is_error":true,"api_error_status":400,"result":"Prompt is too long"}` + "\n", "", 1, "ContextWindowExceededError", "too long", ""},
		"Claude Code, else":  {"claude-code", `{"type":"result","subtype":"error_during_execution","is_error":true}` + "\n", "", 1, agent.ExitProgram, "error_during_execution", ""},
		"Claude Code, dead":  {"claude-code", `{"type":"system"}` + "\n", "one\nno \x1b room\n", 137, agent.ExitProgram, "Claude Code ended without a result (exit status 137): no room", ""},
		"Codex": {
			"codex", `{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}` + "\n" + `{"type":"turn.completed"}` + "\n", "", 0, agent.ExitSubmitted, "Codex finished", "Done.",
		},
		"Codex, 429":  {"codex", `{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}` + "\n", "", 1, "RateLimitError", "429", ""},
		"Codex, full": {"codex", `{"type":"turn.failed","error":{"message":"Codex ran out of room in the model's context window."}}` + "\n", "", 1, "ContextWindowExceededError", "ran out", ""},
		"Codex, lost": {"codex", `{"type":"turn.failed","error":{"message":"stream disconnected"}}` + "\n", "", 1, "APIConnectionError", "stream disconnected", ""},
		"Codex, dead": {"codex", "", "", 1, agent.ExitProgram, "Codex ended without a result (exit status 1)", ""},
		"opencode": {
			"opencode", `{"type":"text","part":{"text":"Done."}}` + "\n" + `{"type":"step_finish","part":{"reason":"stop"}}` + "\n", "", 0, agent.ExitSubmitted, "opencode finished", "Done.",
		},
		"opencode, 401": {
			"opencode", `{"type":"error","timestamp":1,"sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":401,"isRetryable":false}}}` + "\n", "", 1,
			"AuthenticationError", "opencode gave up: no", "",
		},
		"opencode, full":   {"opencode", `{"type":"error","error":{"name":"ContextOverflowError","data":{"message":"full"}}}` + "\n", "", 1, "ContextWindowExceededError", "full", ""},
		"opencode, else":   {"opencode", `{"type":"error","error":{"name":"UnknownError","data":{"message":"odd"}}}` + "\n", "", 1, agent.ExitProgram, "UnknownError odd", ""},
		"opencode, length": {"opencode", `{"type":"step_finish","part":{"reason":"length"}}` + "\n", "", 0, agent.ExitProgram, "cut off", ""},
		"opencode, dead":   {"opencode", `{"type":"step_finish","part":{"reason":"tool-calls"}}` + "\n", "", 0, agent.ExitProgram, "without a result", ""},
	} {
		p := byName(t, c.program)
		o := p.Ended(t.Context(), printed(t, c.output, c.errors), command.End{ExitCode: c.code, Output: []byte(c.output)})
		ok := c.exit == agent.ExitSubmitted || c.exit == agent.ExitLimits
		if o.Exit != c.exit || !strings.Contains(o.Reason, c.reason) || o.Submission != c.said || (o.Err == nil) != ok {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// FuzzEvents: whatever a program prints, what is collected are whole messages.
func FuzzEvents(f *testing.F) {
	for _, line := range []string{
		`{"type":"assistant","message":{"content":[{"type":"tool_use","input":null}]}}`, `{"type":"user","message":{"content":[{"type":"tool_result","content":{}}]}}`,
		`{"type":"item.started","item":{"id":"a","type":"x"}}`, `{"type":"item.completed","item":null}`, `{"type":"tool_use","part":{"state":{"input":[]}}}`,
		"{", "null", "", `{"type":"result","is_error":true}`, `{"type":"turn.failed","error":{"message":"status 999"}}`, `{"type":"error","error":{}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		m := still{output: append(output, '\n')}
		for _, name := range []string{"claude-code", "codex", "opencode"} {
			p := byName(t, name)
			messages, _, err := p.Collect(t.Context(), &m, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, msg := range messages {
				if _, err := json.Marshal(msg); err != nil || msg.Role == "" {
					t.Errorf("%s: %+v: %v", name, msg, err)
				}
			}
			if o := p.Ended(t.Context(), &m, command.End{ExitCode: 1, Output: output}); o.Exit == "" || o.Reason == "" {
				t.Errorf("%s: %+v", name, o)
			}
			m.read = false
		}
	})
}
