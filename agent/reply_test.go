package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
)

// first runs one reply and returns what the model was told after it.
func first(t *testing.T, mode string, r agent.Reply) (told agent.Message, ran []string) {
	t.Helper()
	b := setup(mode, replies(r, call(mode, submit)))
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	for _, m := range b.log.messages(t)[2:] {
		if m.Role == "tool" || m.Role == "user" {
			return m, b.shell.ran[:len(b.shell.ran)-1]
		}
	}
	t.Fatal("the model was told nothing")
	return agent.Message{}, nil
}

func tools(finish string, calls ...agent.ToolCall) agent.Reply {
	return agent.Reply{FinishReason: finish, Message: agent.Message{ToolCalls: calls}}
}

func TestToolReplies(t *testing.T) {
	t.Parallel()
	good := agent.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"echo good"}`}
	for _, c := range []struct {
		name  string
		reply agent.Reply
		want  string // in the format error; "" for none
	}{
		{"no call", tools("stop"), "calls no tool"},
		{"no call but it says so", tools("tool_calls"), "cut off at the output token limit"},
		{"no call, token limit", tools("length"), "cut off at the output token limit"},
		{"bad JSON, token limit", tools("length", agent.ToolCall{Name: "bash", Arguments: `{"command":"ec`}), "cut off"},
		{"bad JSON is not masked as truncation", tools("tool_calls", agent.ToolCall{Name: "bash", Arguments: `{"command":"ec`}), "not valid JSON"},
		{"unknown tool", tools("tool_calls", agent.ToolCall{Name: "python", Arguments: `{"command":"x"}`}), `unknown tool "python"`},
		{"array", tools("tool_calls", agent.ToolCall{Name: "bash", Arguments: `["x"]`}), "not a JSON object"},
		{"null", tools("tool_calls", agent.ToolCall{Name: "bash", Arguments: `null`}), "not a JSON object"},
		{"empty", tools("tool_calls", agent.ToolCall{Name: "bash"}), "not valid JSON"},
		{"no command", tools("tool_calls", agent.ToolCall{Name: "bash", Arguments: `{"cmd":"x"}`}), `no string "command"`},
		{"command is a number", tools("tool_calls", agent.ToolCall{Name: "bash", Arguments: `{"command":1}`}), `no string "command"`},
		{"NUL", tools("tool_calls", agent.ToolCall{Name: "bash", Arguments: `{"command":"a\u0000b"}`}), "NUL"},
		{"too long", tools("tool_calls", agent.ToolCall{Name: "bash", Arguments: `{"command":"` + strings.Repeat("x", 100_001) + `"}`}), "100001 bytes"},
		{"second of two is bad", tools("tool_calls", good, agent.ToolCall{Name: "bash", Arguments: `{`}), "call 2 are not valid JSON"},
		{"good", tools("tool_calls", good), ""},
		{"good though cut", tools("length", good), ""},
		{"further arguments", tools("stop", agent.ToolCall{Name: "bash", Arguments: `{"command":"echo good","why":1}`}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			told, ran := first(t, agent.ModeTools, c.reply)
			if c.want == "" {
				if diff := cmp.Diff([]string{"echo good"}, ran); diff != "" || told.Role != "tool" {
					t.Errorf("%s: %s", told.Role, diff)
				}
				return
			}
			if !strings.Contains(told.Content, c.want) || told.Role != "user" || len(ran) != 0 {
				t.Errorf("told %q, ran %q; want %q", told.Content, ran, c.want)
			}
		})
	}
}

func TestTextReplies(t *testing.T) {
	t.Parallel()
	block := func(c string) string { return "```mswea_bash_command\n" + c + "\n```" }
	for _, c := range []struct{ name, content, finish, want, run string }{
		{name: "one", content: "Now.\n" + block("echo 1") + "\nThen more.", run: "echo 1"},
		{name: "many lines", content: block("cat > f <<'E'\na\n\nb\nE"), run: "cat > f <<'E'\na\n\nb\nE"},
		{name: "trimmed", content: block("\n  echo 1  \n"), run: "echo 1"},
		{name: "space after the tag", content: "```mswea_bash_command  \necho 1\n```", run: "echo 1"},
		{name: "other fences do not count", content: "```bash\nrm -rf /\n```\n" + block("echo 1"), run: "echo 1"},
		{name: "none", content: "```bash\nls\n```", want: "0 command blocks"},
		{name: "two", content: block("a") + "\n" + block("b"), want: "2 command blocks"},
		{name: "unclosed", content: "```mswea_bash_command\nls", want: "0 command blocks"},
		{name: "cut", content: "```mswea_bash_command\nls", finish: "length", want: "cut off at the output token limit"},
		{name: "NUL", content: block("a\x00b"), want: "NUL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			told, ran := first(t, agent.ModeText, agent.Reply{FinishReason: c.finish, Message: agent.Message{Content: c.content}})
			if c.want == "" {
				if diff := cmp.Diff([]string{c.run}, ran); diff != "" {
					t.Error(diff)
				}
				return
			}
			if !strings.Contains(told.Content, c.want) || len(ran) != 0 {
				t.Errorf("told %q, ran %q; want %q", told.Content, ran, c.want)
			}
		})
	}
}

// A text-mode reply with tool calls would leave calls open that nobody answers.
func TestTextModeDropsToolCalls(t *testing.T) {
	t.Parallel()
	r := call(agent.ModeText, "echo 1")
	r.Message.ToolCalls = []agent.ToolCall{{ID: "x", Name: "bash", Arguments: "{}"}}
	b := setup(agent.ModeText, replies(r, call(agent.ModeText, submit)))
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	if m := b.log.messages(t)[2]; len(m.ToolCalls) != 0 {
		t.Errorf("%+v", m.ToolCalls)
	}
}

func TestObservationJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		out    answer
		want   map[string]any
		elided any
	}{
		{name: "plain", out: answer{Text: "a <b> & c\n", ExitCode: 3}, want: map[string]any{"returncode": 3.0, "output": "a <b> & c\n"}},
		{name: "empty", want: map[string]any{"returncode": 0.0, "output": ""}},
		{name: "8000 whole", out: answer{Text: strings.Repeat("é", 8000)}, want: map[string]any{"returncode": 0.0, "output": strings.Repeat("é", 8000)}},
		{name: "9999 whole", out: answer{Text: strings.Repeat("é", 9999)}, want: map[string]any{"returncode": 0.0, "output": strings.Repeat("é", 9999)}},
		{name: "10000 cut with nothing left out", out: answer{Text: strings.Repeat("é", 5000) + strings.Repeat("ü", 5000)}, elided: 0.0},
		{name: "11000 cut", out: answer{Text: strings.Repeat("é", 5000) + strings.Repeat("x", 1000) + strings.Repeat("ü", 5000)}, elided: 1000.0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(agent.ModeTools, replies(call(agent.ModeTools, "x"), call(agent.ModeTools, submit)))
			b.shell.output = map[string]answer{"x": c.out}
			wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
			m := b.log.messages(t)[3]
			var got map[string]any
			if err := json.Unmarshal([]byte(m.Content), &got); err != nil {
				t.Fatal(err)
			}
			if c.elided == nil {
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if strings.Contains(m.Content, `\u003c`) {
					t.Error("HTML characters are escaped:", m.Content)
				}
				return
			}
			if got["output_head"] != strings.Repeat("é", 5000) || got["output_tail"] != strings.Repeat("ü", 5000) ||
				got["elided_chars"] != c.elided || got["warning"] == nil || got["output"] != nil {
				t.Errorf("elided %v, keys %v", got["elided_chars"], len(got))
			}
			if m.Extra["raw_output"] != c.out.Text {
				t.Error("the raw output is not kept whole")
			}
		})
	}
}

func TestObservationTags(t *testing.T) {
	t.Parallel()
	run := func(out answer) string {
		b := setup(agent.ModeText, replies(call(agent.ModeText, "x"), call(agent.ModeText, submit)))
		b.shell.output = map[string]answer{"x": out}
		wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
		return b.log.messages(t)[3].Content
	}
	if diff := cmp.Diff("<returncode>2</returncode>\n<output>\na\nb\n</output>", run(answer{Text: "a\nb\n", ExitCode: 2})); diff != "" {
		t.Error(diff)
	}
	got := run(answer{Text: strings.Repeat("a", 5000) + "MIDDLE" + strings.Repeat("b", 5000), TimedOut: true})
	for _, want := range []string{"<exception>", "<returncode>-1</returncode>", "<warning>", "<output_head>\naaa", "<elided_chars>6</elided_chars>", "bbb\n</output_tail>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got, "MIDDLE") {
		t.Error("the middle is still there")
	}
}

func TestForeignBytesBecomeUTF8(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(call(agent.ModeTools, "x"), call(agent.ModeTools, submit)))
	b.shell.output = map[string]answer{"x": {Text: "a\xff\xfeb", Truncated: true}}
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	m := b.log.messages(t)[3]
	if !strings.Contains(m.Content, "a\uFFFDb") || !utf8.ValidString(m.Content) {
		t.Errorf("%q", m.Content)
	}
	if !strings.Contains(m.Content, "only the first part") {
		t.Error("the model is not told that the sandbox cut the output")
	}
}

func TestKeepOutput(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(call(agent.ModeTools, "x"), call(agent.ModeTools, submit)))
	b.cfg.KeepOutput = 5
	b.shell.output = map[string]answer{"x": {Text: "aaaaéé"}}
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	m := b.log.messages(t)[3]
	if m.Extra["raw_output"] != "aaaa" || m.Extra["raw_output_cut"] != true || !strings.Contains(m.Content, "aaaaéé") {
		t.Errorf("%+v", m)
	}
}

// FuzzReply: whatever a model answers, the run ends in a known way, nothing runs
// after a format error, and the history stays one that a provider takes.
func FuzzReply(f *testing.F) {
	f.Add("text", "bash", `{"command":"ls"}`, "bash", `{"command":1}`, "stop", true)
	f.Add("```mswea_bash_command\nls\n```", "", "", "", "", "length", false)
	f.Add("", "bash", "{", "x", "null", "tool_calls", true)
	f.Fuzz(func(t *testing.T, content, name1, args1, name2, args2, finish string, inTools bool) {
		mode := agent.ModeText
		if inTools {
			mode = agent.ModeTools
		}
		reply := tools(finish, agent.ToolCall{Name: name1, Arguments: args1}, agent.ToolCall{ID: "c", Name: name2, Arguments: args2})
		reply.Message.Content = content
		b := setup(mode, &model{answer: func(_ context.Context, _ []agent.Message, n int) (agent.Reply, error) {
			if n == 1 {
				return reply, nil
			}
			return call(mode, submit), nil
		}})
		r := b.run(t.Context())
		wantExit(t, r, agent.ExitSubmitted)
		msgs := b.log.messages(t)
		if len(msgs) > 2 && msgs[2].Extra["interrupt_type"] != nil && len(b.shell.ran) != 1 {
			t.Errorf("after a format error %q ran", b.shell.ran)
		}
		b.job.Resume = b.log.lines // reads back: the shape is one that can be resumed
		b.job.Model = replies()
		if again := b.run(t.Context()); again.Exit != r.Exit {
			t.Errorf("read back: %+v", again)
		}
	})
}
