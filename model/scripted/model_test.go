package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

func load(t *testing.T, yaml string) *scripted.Script {
	t.Helper()
	s, err := scripted.Load([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opening is a history before the first reply.
func opening(task string) []agent.Message {
	return []agent.Message{{Role: agent.RoleSystem, Content: "system"}, {Role: agent.RoleUser, Content: task}}
}

func query(t *testing.T, m agent.Model, history []agent.Message) agent.Reply {
	t.Helper()
	r, err := m.Query(t.Context(), history)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFirstMatchingPlayWins(t *testing.T) {
	t.Parallel()
	s := load(t, `
plays:
  - {match: {model: a, temperature: 0.2}, steps: [{run: "1"}]}
  - {match: {model: a, strategy: small-steps}, steps: [{run: "2"}]}
  - {match: {model: a, strategy: ""}, steps: [{run: "3"}]}
  - {match: {repeat: 2}, steps: [{run: "4"}]}
  - {match: {agent: other}, steps: [{run: "5"}]}
  - {match: {max_edits: 0, model: b}, steps: [{run: "6"}]}
  - {match: {task_contains: panics}, steps: [{run: "7"}]}
  - {match: {model: c}, steps: [{run: "8"}]}
`)
	low, high := 0.2, 0.9
	for _, c := range []struct {
		model string
		x     solve.Experiment
		task  string
		want  string
	}{
		{"a", solve.Experiment{Temperature: &low, Strategy: "small-steps"}, "", "1"},
		{"a", solve.Experiment{Temperature: &high, Strategy: "small-steps"}, "", "2"},
		{"a", solve.Experiment{}, "", "3"},
		{"a", solve.Experiment{Strategy: "x", Repeat: 2}, "", "4"},
		{"b", solve.Experiment{Agent: "other"}, "", "5"},
		{"b", solve.Experiment{Agent: "mini"}, "", "6"},
		{"b", solve.Experiment{MaxEdits: 1}, "it panics", "7"},
		{"c", solve.Experiment{}, "", "8"},
	} {
		m := s.Model(c.model, c.x, agent.Price{})
		if r := query(t, m, opening(c.task)); r.Message.ToolCalls[0].Arguments != `{"command":"`+c.want+`"}` || m.Name() != c.model {
			t.Errorf("%s %+v: %s, want %s", c.model, c.x, r.Message.ToolCalls[0].Arguments, c.want)
		}
	}
	_, err := s.Model("b", solve.Experiment{MaxEdits: 1, Strategy: "s", Repeat: 1}, agent.Price{}).Query(t.Context(), opening(""))
	var me agent.ModelError
	if !errors.As(err, &me) || me.ExitStatus() != scripted.StatusNoPlay || !strings.Contains(me.Public(), `model b, temperature none, strategy "s"`) {
		t.Error(err)
	}
}

func TestStepsByTurnInBothModes(t *testing.T) {
	t.Parallel()
	s := load(t, `
plays:
  - steps:
      - say: First a look.
        run: |
          cat <<'EOF' > f
          a "quoted" $line

          EOF
      - raw: {content: no command here}
      - say: Two.
        runs: [one, two]
`)
	m := s.Model("a", solve.Experiment{}, agent.Price{})
	text := m.InMode(agent.ModeText)
	history := opening("task")
	r := query(t, m, history)
	want := agent.Message{Role: "assistant", Content: "First a look.", ToolCalls: []agent.ToolCall{
		{ID: "call_1_1", Name: "bash", Arguments: `{"command":"cat \u003c\u003c'EOF' \u003e f\na \"quoted\" $line\n\nEOF\n"}`},
	}}
	if diff := cmp.Diff(want, r.Message); diff != "" || r.FinishReason != "tool_calls" {
		t.Error(r.FinishReason, diff)
	}
	wantText := "First a look.\n\n```mswea_bash_command\ncat <<'EOF' > f\na \"quoted\" $line\n\nEOF\n```"
	if r := query(t, text, history); r.Message.Content != wantText || len(r.Message.ToolCalls) != 0 || r.FinishReason != "stop" {
		t.Errorf("%+v", r)
	}

	history = append(history, r.Message, agent.Message{Role: agent.RoleTool, ToolCallID: "call_1_1"})
	if r := query(t, m, history); r.Message.Content != "no command here" || len(r.Message.ToolCalls) != 0 {
		t.Errorf("%+v", r)
	}
	// A malformed reply is in the history only as the complaint about it, and counts.
	history = append(history, agent.Message{Role: agent.RoleUser, Extra: map[string]any{"interrupt_type": "FormatError"}})
	if r := query(t, m, history); len(r.Message.ToolCalls) != 2 || r.Message.ToolCalls[1].ID != "call_3_2" {
		t.Errorf("%+v", r)
	}
	for range 2 { // after the last step: submit, again and again
		history = append(history, agent.Message{Role: agent.RoleAssistant})
		if r := query(t, m, history); !strings.Contains(r.Message.ToolCalls[0].Arguments, agent.SubmitMarker) {
			t.Errorf("%+v", r)
		}
	}
}

func TestRawAndFinishReason(t *testing.T) {
	t.Parallel()
	s := load(t, `
plays:
  - steps:
      - raw: {tool_calls: [{name: python, arguments: "{"}, {id: x, name: bash, arguments: "{}"}]}
        finish_reason: length
`)
	r := query(t, s.Model("a", solve.Experiment{}, agent.Price{}), opening(""))
	want := []agent.ToolCall{{ID: "call_1_1", Name: "python", Arguments: "{"}, {ID: "x", Name: "bash", Arguments: "{}"}}
	if diff := cmp.Diff(want, r.Message.ToolCalls); diff != "" || r.FinishReason != "length" {
		t.Error(r.FinishReason, diff)
	}
}

func TestPlayedErrors(t *testing.T) {
	t.Parallel()
	s := load(t, "plays:\n  - steps:\n      - error: {status: RateLimitError, text: too many}\n")
	_, err := s.Model("a", solve.Experiment{}, agent.Price{}).Query(t.Context(), opening(""))
	var me agent.ModelError
	if !errors.As(err, &me) || me.ExitStatus() != "RateLimitError" || me.Public() != "too many" {
		t.Error(err)
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	s := load(t, "plays:\n  - steps:\n      - run: a\n        delay: 90s\n")
	m := s.Model("a", solve.Experiment{}, agent.Price{})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		query(t, m, opening(""))
		if time.Since(start) != 90*time.Second {
			t.Error(time.Since(start))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(agent.ErrCancelled) })
		if _, err := m.Query(ctx, opening("")); !errors.Is(err, agent.ErrCancelled) || time.Since(start) != 91*time.Second {
			t.Error(err, time.Since(start))
		}
	})
}

func TestUsageAndPrice(t *testing.T) {
	t.Parallel()
	s := load(t, `
price: {input: 1, cached_input: 0.5, output: 4}
prices: {dear: {input: 10, output: 40}}
plays:
  - match: {model: guess}
    steps: [{say: "12345678", run: ls}]
  - steps:
      - run: ls
        usage: {input: 1000, cached: 400, output: 10}
`)
	for name, want := range map[string]solve.Usage{
		"cheap": {Calls: 1, Input: 1000, CachedRead: 400, Output: 10, Cost: 600 + 200 + 40},
		"dear":  {Calls: 1, Input: 1000, CachedRead: 400, Output: 10, Cost: 6000 + 4000 + 400},
		// system (2) + task (10) in; "12345678" and {"command":"ls"} out
		"guess": {Calls: 1, Input: 12, Output: 6, Cost: 12 + 24},
	} {
		r := query(t, s.Model(name, solve.Experiment{}, agent.Price{Input: 99}), opening(strings.Repeat("x", 40)))
		if diff := cmp.Diff(want, r.Usage); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	plain := load(t, "plays: [{steps: [{run: ls, usage: {input: 10}}]}]")
	if r := query(t, plain.Model("x", solve.Experiment{}, agent.Price{Input: 2}), opening("")); r.Usage.Cost != 20 {
		t.Errorf("fallback price: %+v", r.Usage)
	}
}

func TestInterruptedStepIsPlayedAgain(t *testing.T) {
	t.Parallel()
	m := load(t, "plays: [{steps: [{runs: [a, b]}, {run: c}]}]").Model("m", solve.Experiment{}, agent.Price{})
	interrupted := agent.Message{Role: agent.RoleTool, Extra: map[string]any{"exception_type": "Interrupted"}}
	history := append(opening(""), agent.Message{Role: agent.RoleAssistant}, interrupted, interrupted)
	r := query(t, m, history)
	if len(r.Message.ToolCalls) != 2 || r.Message.ToolCalls[0].ID != "call_2_1" {
		t.Errorf("%+v", r.Message)
	}
	history = append(history, agent.Message{Role: agent.RoleAssistant}, agent.Message{Role: agent.RoleTool})
	if r := query(t, m, history); r.Message.ToolCalls[0].Arguments != `{"command":"c"}` {
		t.Errorf("%+v", r.Message)
	}
}

// nothing is a shell in which every command does nothing but echo.
type nothing struct{ sandbox.Sandbox }

func noTree(context.Context) (string, error) { return "", nil }

func (nothing) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	if text, ok := strings.CutPrefix(c.Shell, "echo "); ok {
		fmt.Fprintln(c.Stdout, text)
	}
	return sandbox.Result{}, nil
}

// A script drives the agent from the first step to the submission, in both
// modes, over a malformed reply, and a run resumed in between goes on at its step.
func TestDrivesTheAgent(t *testing.T) {
	t.Parallel()
	s := load(t, "plays:\n  - steps: [{run: a}, {raw: {content: hm}}, {run: b}]\n")
	for _, mode := range []string{agent.ModeTools, agent.ModeText} {
		cfg := agent.DefaultConfig()
		cfg.Mode = mode
		var lines []byte
		ctx, cancel := context.WithCancel(t.Context())
		job := agent.Job{Model: s.Model("m", solve.Experiment{}, agent.Price{}), Sandbox: nothing{}, Tree: noTree}
		job.Save = func(_ context.Context, l []byte, p solve.Progress) error {
			lines = append(lines, l...)
			if p.Steps == 2 {
				cancel()
			}
			return nil
		}
		if r := agent.NewMini(cfg).Run(ctx, job); r.Exit != agent.ExitCancelled {
			t.Fatalf("%s: %+v", mode, r)
		}
		job.Resume = append([]byte(nil), lines...)
		job.Save = nil
		r := agent.NewMini(cfg).Run(t.Context(), job)
		if r.Exit != agent.ExitSubmitted || r.Progress.Steps != 4 {
			t.Errorf("%s: %+v", mode, r)
		}
	}
}

func ExampleLoad() {
	script, err := scripted.Load([]byte(`
price: {input: 1, output: 5} # US dollars per million tokens
plays:
  - match: {model: careful, temperature: 0.2}
    steps:
      - say: I write the fix.
        run: |
          cat > sum.go <<'EOF'
          package sum
          EOF
        usage: {input: 1200, output: 80}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	low := 0.2
	m := script.Model("careful", solve.Experiment{Temperature: &low}, agent.Price{}).InMode(agent.ModeText)
	reply, err := m.Query(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Message.Content)
	fmt.Println(int64(reply.Usage.Cost), "millionths of a dollar")
	// Output:
	// I write the fix.
	//
	// ```mswea_bash_command
	// cat > sum.go <<'EOF'
	// package sum
	// EOF
	// ```
	// 1600 millionths of a dollar
}
