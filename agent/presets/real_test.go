package presets_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/presets"
	"github.com/yudai-dev/yudai/test/require"
)

// fix changes a file in two steps and ends.
const fix = `
plays:
  - match: {task_contains: The sum is wrong}
    steps:
      - say: First a look.
        run: cat sum.txt; echo trouble >&2; (exit 3)
      - say: I change it.
        run: |
          cat > sum.txt <<'EOF'
          one "and" $two
          EOF
      - run: git status --short
`

// turn is what is compared of a transcript.
type turn struct{ Role, Text, Call string }

// turns are the messages between the task and the end. Calls are named by their
// command, whatever the agent's shell wraps it in.
func turns(messages []agent.Message) []turn {
	var out []turn
	for _, m := range messages {
		t := turn{Role: m.Role, Text: strings.TrimSpace(m.Content)}
		for _, c := range m.ToolCalls {
			for _, command := range []string{"cat sum.txt;", "cat \\u003e sum.txt", "cat > sum.txt", "git status --short"} {
				if strings.Contains(c.Arguments, command) {
					t.Call = strings.ReplaceAll(command, "\\u003e", ">")
				}
			}
		}
		if m.Role != agent.RoleStart && m.Role != agent.RoleExit && m.Role != agent.RoleOutput {
			out = append(out, t)
		}
	}
	return out
}

func TestClaudeCodeSolves(t *testing.T) {
	t.Parallel()
	solves(t, presets.ClaudeCode(), "Instructions of claude", func(text string) string { return strings.TrimPrefix(text, "Exit code 3\n") })
}

func TestCodexSolves(t *testing.T) {
	t.Parallel()
	solves(t, presets.Codex(), "Instructions of agents", func(text string) string {
		return strings.Replace(text, "trouble\none", "one\ntrouble", 1) // it reads both streams at once
	})
}

func TestOpencodeSolves(t *testing.T) {
	t.Parallel()
	require.Long(t)
	solves(t, presets.Opencode(), "Instructions of agents", nil)
}

// saidFirst puts what was said before what was called: opencode prints the text of a step
// before or after its call.
func saidFirst(a, b turn) int {
	said := func(t turn) int {
		if t.Role == agent.RoleAssistant && t.Call == "" {
			return 0
		}
		return 1
	}
	return said(a) - said(b)
}

// solves has the real program play the fix.
func solves(t *testing.T, p command.Program, instructions string, tidy func(string) string) {
	t.Helper()
	w := setup(t, p, fix)
	res := w.run(p, nil)
	if res.Exit != agent.ExitSubmitted || res.Err != nil || !strings.Contains(res.Submission, "The work is done") || res.Progress.Steps < 4 {
		t.Fatalf("%+v\n%s", res, w.Lines())
	}
	if got := w.sh("cat sum.txt; git status --short"); got != "one \"and\" $two\n M sum.txt\n" {
		t.Errorf("the tree: %s", got)
	}
	if diff := cmp.Diff(map[string]bool{token: true}, w.keys); diff != "" {
		t.Errorf("keys of the calls:\n%s", diff)
	}
	if !strings.Contains(w.bodies.String(), instructions) {
		t.Error("the repository's instructions were not read")
	}
	if strings.Contains(string(w.Lines()), token) {
		t.Error("the token is in the transcript")
	}
	got := turns(w.Messages())
	for i := range got {
		if tidy != nil && got[i].Role == agent.RoleTool {
			got[i].Text = tidy(got[i].Text)
		}
		if got[i].Role == agent.RoleTool && strings.HasPrefix(got[i].Text, "(") { // "no output", in the agent's words
			got[i].Text = ""
		}
	}
	want := []turn{
		{"assistant", "First a look.", ""}, {"assistant", "", "cat sum.txt;"}, {"tool", "one\ntrouble", ""},
		{"assistant", "I change it.", ""}, {"assistant", "", "cat > sum.txt"}, {"tool", "", ""},
		{"assistant", "", "git status --short"}, {"tool", "M sum.txt", ""},
		{"assistant", "The work is done; I submit it.", ""},
	}
	if p.Name == presets.Opencode().Name {
		slices.SortStableFunc(want, saidFirst)
		slices.SortStableFunc(got, saidFirst)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript:\n%s", diff)
	}
}

// A model that refuses ends the program by itself: at once, or, as docs/agents.md says of
// Codex, after five more tries.
func TestRefusedCallsEndThem(t *testing.T) {
	t.Parallel()
	calls := map[string]int{"claude-code": 1, "codex": 6, "opencode": 1}
	for _, p := range presets.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, p, "plays: [{steps: [{error: {status: AuthenticationError, text: the budget is used up}}]}]")
			res := w.run(p, nil)
			if res.Exit != "AuthenticationError" || res.Err == nil || !strings.Contains(res.Reason, "the budget is used up") {
				t.Errorf("%+v", res)
			}
			if w.refused != calls[p.Name] {
				t.Errorf("%d calls were refused, want %d", w.refused, calls[p.Name])
			}
		})
	}
}

func TestClaudeCodeKeepsToItsSteps(t *testing.T) {
	t.Parallel()
	require.Long(t)
	p := presets.ClaudeCode()
	w := setup(t, p, fix)
	res := w.run(p, func(j *agent.Job) { j.Limits.RunSteps = 2 })
	if res.Exit != agent.ExitLimits || w.calls != 2 {
		t.Errorf("%+v after %d calls", res, w.calls)
	}
}

func TestClaudeCodeKeepsToTheTimeOfACommand(t *testing.T) {
	t.Parallel()
	require.Long(t)
	p := presets.ClaudeCode()
	w := setup(t, p, "plays: [{steps: [{run: sleep 600}]}]")
	res := w.run(p, func(j *agent.Job) { j.Limits.CommandTime = time.Second })
	if res.Exit != agent.ExitSubmitted || !strings.Contains(string(w.Lines()), "timed out") {
		t.Errorf("%+v\n%s", res, w.Lines())
	}
}
