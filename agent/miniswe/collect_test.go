package miniswe_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/hostmachine"
)

// written is a machine with that trajectory file.
func written(t *testing.T, data string) *hostmachine.Machine {
	t.Helper()
	m := agenttest.Machine(t)
	rewrite(t, m, data)
	return m
}

func rewrite(t *testing.T, m *hostmachine.Machine, data string) {
	t.Helper()
	if err := (agent.File{Path: trajectory, Data: []byte(data)}).Put(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func collect(t *testing.T, m sandbox.Sandbox, at int) ([]agent.Message, int) {
	t.Helper()
	messages, next, err := miniswe.Program().Collect(t.Context(), m, at)
	if err != nil {
		t.Fatal(err)
	}
	return messages, next
}

const chat = `{"info":{"exit_status":"","submission":""},"messages":[
 {"role":"system","content":"S"},
 {"role":"user","content":"U"},
 {"role":"assistant","content":null,"tool_calls":[{"index":1,"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls <a>\"}"}}],
  "provider_specific_fields":{"x":1},"extra":{"actions":[{"command":"ls <a>","tool_call_id":"c1"}],"response":{"id":"r"},"cost":0.0,"timestamp":1.5}},
 {"role":"tool","tool_call_id":"c1","content":"{}","extra":{"raw_output":"x","returncode":0,"timestamp":2.5,"exception_info":""}}`

// TestTrajectoryGrows: the file is written anew after each step, so that it may be
// found half written, longer, or not at all; every message is taken once.
func TestTrajectoryGrows(t *testing.T) {
	t.Parallel()
	m := agenttest.Machine(t)
	if got, at := collect(t, m, 0); len(got) > 0 || at != 0 {
		t.Errorf("no file: %v %d", got, at)
	}
	whole := chat + "]}"
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		rewrite(t, m, whole[:n])
		if got, at := collect(t, m, 0); len(got) > 0 || at != 0 {
			t.Errorf("%d bytes: %v %d", n, got, at)
		}
	}
	rewrite(t, m, whole)
	got, at := collect(t, m, 0)
	want := []agent.Message{
		{Role: "system", Content: "S", Extra: map[string]any{}}, {Role: "user", Content: "U", Extra: map[string]any{}},
		{
			Role: "assistant", ToolCalls: []agent.ToolCall{{ID: "c1", Name: "bash", Arguments: `{"command": "ls <a>"}`}},
			Extra: map[string]any{"actions": []any{map[string]any{"command": "ls <a>", "tool_call_id": "c1"}}, "cost": 0.0, "timestamp": 1.5},
		},
		{Role: "tool", ToolCallID: "c1", Content: "{}", Extra: map[string]any{"raw_output": "x", "returncode": 0.0, "timestamp": 2.5, "exception_info": ""}},
	}
	for i := range got {
		if got[i].Extra == nil {
			got[i].Extra = map[string]any{}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || at != 4 {
		t.Errorf("at %d: %s", at, diff)
	}
	rewrite(t, m, whole[:len(whole)-2]) // in the middle of the next writing
	if got, next := collect(t, m, at); len(got) > 0 || next != at {
		t.Errorf("half: %v %d", got, next)
	}
	rewrite(t, m, chat+`,{"role":"user","content":[{"type":"text","text":"part 1"},{"type":"text","text":"part 2"}],"extra":{"interrupt_type":"FormatError","response":{}}},
 {"role":"exit","content":"","extra":{"exit_status":"Submitted","submission":""}}]}`)
	got, at = collect(t, m, at)
	if len(got) != 1 || got[0].Content != "part 1\npart 2" || got[0].Extra["interrupt_type"] != "FormatError" || got[0].Extra["response"] != nil || at != 6 {
		t.Errorf("%d: %+v", at, got)
	}
	if got, next := collect(t, m, at); len(got) > 0 || next != at {
		t.Errorf("again: %v %d", got, next)
	}
}

// TestResponses: answers of the Responses API in the neutral form.
func TestResponses(t *testing.T) {
	t.Parallel()
	m := written(t, `{"messages":[{"object":"response","id":"r","output":[
 {"type":"reasoning","summary":[]},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"One."},{"type":"output_text","text":"Two."}]},
 {"type":"function_call","id":"f","call_id":"c1","name":"bash","arguments":"{}"}],"extra":{"actions":[],"cost":0}},
 {"type":"function_call_output","call_id":"c1","output":"seen","extra":{"returncode":3}},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"wrong"}],"extra":{"interrupt_type":"FormatError"}}]}`)
	got, at := collect(t, m, 0)
	want := []agent.Message{
		{Role: "assistant", Content: "One.\nTwo.", ToolCalls: []agent.ToolCall{{ID: "c1", Name: "bash", Arguments: "{}"}}, Extra: map[string]any{"actions": []any{}, "cost": 0.0}},
		{Role: "tool", ToolCallID: "c1", Content: "seen", Extra: map[string]any{"returncode": 3.0}},
		{Role: "user", Content: "wrong", Extra: map[string]any{"interrupt_type": "FormatError"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || at != 3 {
		t.Errorf("at %d: %s", at, diff)
	}
}

// TestForeignTrajectory: the agent's commands can write the file, too. What is no
// message is left out, what is long is cut, and nothing fails.
func TestForeignTrajectory(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200<<10)
	for _, text := range []string{
		`null`, `[]`, `"x"`, `{}`, `{"messages":null}`, `{"messages":{}}`, `{"messages":[1,null,"x",[],{},{"role":5},{"role":"start"},{"role":"output","content":"x"},{"role":"exit"}]}`,
		`{"messages":[{"role":"assistant","tool_calls":7}]}`, strings.Repeat("[", 100_000),
	} {
		if got, _ := collect(t, written(t, text), 0); len(got) > 0 {
			t.Errorf("%.80s: %+v", text, got)
		}
	}
	got, _ := collect(t, written(t, `{"messages":[{"role":"tool","content":"`+long+`","extra":{"raw_output":"`+long+`"}}]}`), 0)
	if len(got) != 1 || len(got[0].Content) > 256<<10 || len(got[0].Extra["raw_output"].(string)) > 256<<10 || got[0].Extra["raw_output_cut"] != true || strings.ContainsRune(got[0].Content, '\uFFFD') {
		t.Errorf("%d messages", len(got))
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	secret := "key sk-secret in a traceback"
	for _, c := range []struct {
		file, output string
		code         int
		exit, reason string
		failed       bool
	}{
		{file: "Submitted", exit: agent.ExitSubmitted, reason: "the agent submitted its work"},
		{file: "Submitted", code: 1, exit: agent.ExitSubmitted, reason: "the agent submitted its work"},
		{file: "LimitsExceeded", exit: agent.ExitLimits, reason: "step limit"},
		{file: "TimeExceeded", exit: agent.ExitTime, reason: "time limit"},
		{file: "RepeatedFormatError", exit: agent.ExitFormat, reason: "outside the format"},
		{file: "AuthenticationError", code: 1, exit: "AuthenticationError", reason: "refused", failed: true},
		{file: "ContextWindowExceededError", code: 1, exit: "ContextWindowExceededError", reason: "longer than the model takes", failed: true},
		{file: "RateLimitError", code: 1, exit: "RateLimitError", reason: "call to the model failed", failed: true},
		{file: "ValueError", code: 1, exit: "ValueError", reason: "ended by an error (ValueError)", failed: true},
		{file: "no name; " + secret, code: 1, exit: agent.ExitProgram, reason: "ended by an error", failed: true},
		{code: 137, exit: agent.ExitProgram, reason: "exit status 137", failed: true},
		{code: 127, exit: agent.ExitProgram, reason: "not installed in the sandbox", failed: true},
		{code: 1, output: "Traceback\n  x\nModuleNotFoundError: " + secret + "\n", exit: agent.ExitProgram, reason: "(ModuleNotFoundError)", failed: true},
	} {
		t.Run(c.file+c.exit+c.reason, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(map[string]any{
				"info":     map[string]any{"exit_status": c.file, "submission": "patch\n"},
				"messages": []any{map[string]any{"role": "exit", "content": secret, "extra": map[string]any{"traceback": secret, "exception_str": secret}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := miniswe.Program().Ended(t.Context(), written(t, string(text)), command.End{ExitCode: c.code, Output: []byte(c.output)})
			if got.Exit != c.exit || !strings.Contains(got.Reason, c.reason) || (got.Err != nil) != c.failed || !bytes.Equal(got.Trajectory, text) {
				t.Errorf("%+v", got)
			}
			if c.file != "" && got.Submission != "patch\n" {
				t.Errorf("submission %q", got.Submission)
			}
			if strings.Contains(got.Reason, "secret") || got.Err != nil && strings.Contains(got.Err.Error(), "secret") {
				t.Errorf("%q, %v tell the secret", got.Reason, got.Err)
			}
		})
	}
}

// A program that was killed, or did not start, has no trajectory, or half of one.
func TestEndedWithoutTrajectory(t *testing.T) {
	t.Parallel()
	m := agenttest.Machine(t)
	got := miniswe.Program().Ended(t.Context(), m, command.End{ExitCode: 1})
	if got.Exit != agent.ExitProgram || got.Trajectory != nil || got.Err == nil {
		t.Errorf("%+v", got)
	}
	rewrite(t, m, chat)
	got = miniswe.Program().Ended(t.Context(), m, command.End{ExitCode: -1})
	if got.Exit != agent.ExitProgram || got.Trajectory != nil || got.Err == nil {
		t.Errorf("%+v", got)
	}
	rewrite(t, m, chat+"]}") // stopped between two steps
	if got = miniswe.Program().Ended(t.Context(), m, command.End{ExitCode: -1}); string(got.Trajectory) != chat+"]}" {
		t.Errorf("%+v", got)
	}
}
