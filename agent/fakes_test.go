package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

const submit = "echo " + agent.SubmitMarker

var modes = []string{agent.ModeTools, agent.ModeText}

// eachMode runs a test in both modes.
func eachMode(t *testing.T, test func(t *testing.T, mode string)) {
	t.Helper()
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			test(t, mode)
		})
	}
}

// call is a well-formed reply with the given commands (text mode: one).
func call(mode string, commands ...string) agent.Reply {
	r := agent.Reply{FinishReason: "stop", Usage: solve.Usage{Calls: 1, Input: 100, Output: 10}, Raw: json.RawMessage(`{"id":"r1"}`)}
	r.Message = agent.Message{Role: "assistant", Content: "Next."}
	if mode == agent.ModeText {
		if len(commands) != 1 {
			panic("text mode takes one command")
		}
		r.Message.Content += "\n\n```mswea_bash_command\n" + commands[0] + "\n```"
		return r
	}
	for i, c := range commands {
		args, _ := json.Marshal(map[string]string{"command": c})
		r.Message.ToolCalls = append(r.Message.ToolCalls, agent.ToolCall{ID: fmt.Sprintf("c%d", i), Name: "bash", Arguments: string(args)})
	}
	r.FinishReason = "tool_calls"
	return r
}

// malformed is a reply without a command.
func malformed() agent.Reply {
	return agent.Reply{FinishReason: "stop", Usage: solve.Usage{Calls: 1}, Raw: json.RawMessage(`{"id":"bad"}`),
		Message: agent.Message{Role: "assistant", Content: "I would rather talk."}}
}

func costing(usd float64, r agent.Reply) agent.Reply {
	r.Usage.Cost = solve.Money(usd * 1e6)
	return r
}

// model answers from a function of the history, and counts.
type model struct {
	mu     sync.Mutex
	calls  int
	answer func(ctx context.Context, history []agent.Message, call int) (agent.Reply, error)
}

func (m *model) Name() string { return "test" }

func (m *model) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	m.mu.Lock()
	m.calls++
	n := m.calls
	m.mu.Unlock()
	return m.answer(ctx, history, n)
}

// replies plays a list; beyond its end the test is wrong.
func replies(list ...agent.Reply) *model {
	return &model{answer: func(_ context.Context, _ []agent.Message, call int) (agent.Reply, error) {
		if call > len(list) {
			return agent.Reply{}, fmt.Errorf("model call %d was not expected", call)
		}
		return list[call-1], nil
	}}
}

// answer is what a command comes to.
type answer struct {
	Text                string
	ExitCode            int
	TimedOut, Truncated bool
}

// shell is a tiny world: "write X" appends X to the tree, "echo X" prints, "false"
// fails, "hang" times out after printing. Everything else is a lookup.
type shell struct {
	sandbox.Sandbox // for the methods that no test calls

	ran    []string
	files  string
	output map[string]answer
	before func(ctx context.Context, command string) error
}

func (s *shell) Tree(ctx context.Context) (string, error) {
	return "tree:" + s.files, ctx.Err()
}

func (s *shell) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	a, err := s.run(ctx, c.Shell)
	if err == nil && c.Stdout != nil {
		_, err = io.WriteString(c.Stdout, a.Text)
	}
	return sandbox.Result{ExitCode: a.ExitCode, TimedOut: a.TimedOut, Truncated: a.Truncated}, err
}

func (s *shell) run(ctx context.Context, command string) (answer, error) {
	if s.before != nil {
		if err := s.before(ctx, command); err != nil {
			return answer{}, err
		}
	}
	s.ran = append(s.ran, command)
	word, rest, _ := strings.Cut(command, " ")
	if out, ok := s.output[command]; ok {
		return out, nil
	}
	switch word {
	case "write":
		s.files += rest + ";"
	case "echo":
		return answer{Text: rest + "\n"}, nil
	case "false":
		return answer{Text: "it failed\n", ExitCode: 1}, nil
	case "hang":
		return answer{Text: "partial output", ExitCode: -1, TimedOut: true}, nil
	}
	return answer{}, nil
}

// log is a transcript in memory.
type log struct {
	lines    []byte
	progress solve.Progress
	saves    int
}

func (l *log) save(ctx context.Context, lines []byte, p solve.Progress) error {
	if ctx.Err() != nil {
		return ctx.Err() // as a real store would
	}
	l.lines = append(l.lines, lines...)
	l.progress = p
	l.saves++
	return nil
}

func (l *log) messages(t *testing.T) []agent.Message {
	t.Helper()
	var out []agent.Message
	for line := range bytes.Lines(l.lines) {
		var m agent.Message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		out = append(out, m)
	}
	return out
}

func roles(messages []agent.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Role)
	}
	return strings.Join(out, " ")
}

// bench is a run being set up.
type bench struct {
	cfg   agent.Config
	job   agent.Job
	shell *shell
	log   *log
}

func setup(mode string, m agent.Model) *bench {
	b := &bench{cfg: agent.DefaultConfig(), shell: &shell{}, log: &log{}}
	b.cfg.Mode = mode
	b.job = agent.Job{Task: "Fix it.", Model: m, Sandbox: b.shell, Tree: b.shell.Tree, Save: b.log.save}
	return b
}

func (b *bench) run(ctx context.Context) agent.Result { return agent.NewMini(b.cfg).Run(ctx, b.job) }

func wantExit(t *testing.T, r agent.Result, exit string) {
	t.Helper()
	if r.Exit != exit {
		t.Fatalf("exit = %q (%s, err %v), want %q", r.Exit, r.Reason, r.Err, exit)
	}
}
