package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// careful is a deterministic model: its script is a list of turns, and a turn whose
// commands were interrupted is answered by the same turn again. It depends on the history alone.
func careful(script ...agent.Reply) *model {
	return &model{answer: func(_ context.Context, history []agent.Message, _ int) (agent.Reply, error) {
		turn := agent.Turns(history)
		for _, m := range history {
			if m.Extra["exception_type"] == "Interrupted" {
				turn--
			}
		}
		return costing(0.25, script[min(turn, len(script)-1)]), nil
	}}
}

// replay rebuilds the world as it was when the given messages were stored: all
// observed commands took effect, the others did not.
func replay(history []agent.Message) *shell {
	s := &shell{output: map[string]answer{"final": {Text: agent.SubmitMarker + "\nresult"}}}
	var open []string
	for _, m := range history {
		switch {
		case m.Role == "assistant":
			open = nil
			for _, a := range m.Extra["actions"].([]any) {
				open = append(open, a.(map[string]any)["command"].(string))
			}
		case len(open) > 0 && m.Extra["returncode"] != nil:
			_, _ = s.run(context.Background(), open[0])
			open = open[1:]
		}
	}
	s.ran = nil
	return s
}

// Going on from any prefix of the transcript, cut at any line or inside it,
// gives the same result and the same tree.
func TestResumeAtEveryPrefix(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		script := []agent.Reply{
			call(mode, "write a"), malformed(), call(mode, "hang"), malformed(), malformed(), call(mode, "write b"), call(mode, "final"),
		}
		whole := setup(mode, careful(script...))
		whole.shell.output = replay(nil).output
		want := whole.run(t.Context())
		wantExit(t, want, agent.ExitSubmitted)
		if want.Submission != "result" || whole.shell.files != "a;b;" || want.Progress.Edits != 2 {
			t.Fatalf("%+v, files %q", want, whole.shell.files)
		}

		full := whole.log.lines
		var cuts []int
		for at := 0; at <= len(full); {
			next := bytes.IndexByte(full[at:], '\n')
			if next < 0 {
				cuts = append(cuts, at)
				break
			}
			cuts = append(cuts, at, at+next/2, at+next) // before, inside, all but the line end
			at += next + 1
		}
		for _, cut := range cuts {
			stored := &log{lines: bytes.Clone(full[:cut])}
			prefix := &log{lines: stored.lines[:bytes.LastIndexByte(stored.lines, '\n')+1]}
			if whole := append(bytes.Clone(full[:cut]), '\n'); bytes.HasPrefix(full, whole) {
				prefix.lines = whole
			}
			b := setup(mode, careful(script...))
			b.shell = replay(prefix.messages(t))
			b.job.Sandbox, b.job.Tree, b.job.Save, b.log = b.shell, b.shell.Tree, stored.save, stored
			b.job.Resume = full[:cut]
			got := b.run(t.Context())
			// One call more where the reply was stored and what came of it was not.
			more := storedReplies(stored.lines) - len(script)
			ignore := cmpopts.IgnoreFields(solve.Progress{}, "At", "Output")
			want := want
			want.Progress.Steps += more
			want.Progress.Usage.Calls += more
			want.Progress.Usage.Cost += solve.Money(more) * 250_000
			if diff := cmp.Diff(want, got, ignore, cmpopts.IgnoreFields(solve.Usage{}, "Input", "Output")); diff != "" {
				t.Errorf("cut at %d: %s", cut, diff)
			}
			if b.shell.files != whole.shell.files {
				t.Errorf("cut at %d: files %q", cut, b.shell.files)
			}
			if more < 0 || more > 1 {
				t.Errorf("cut at %d: %d calls more", cut, more)
			}
			// What was stored in two parts is again a transcript that can be read.
			b.job.Resume, b.job.Model = stored.lines, replies()
			if again := b.run(t.Context()); again.Exit != got.Exit || again.Submission != got.Submission {
				t.Errorf("cut at %d: read back %+v", cut, again)
			}
		}
	})
}

// storedReplies counts the model's replies in a transcript that may hold torn lines.
func storedReplies(lines []byte) int {
	n := 0
	for line := range bytes.Lines(lines) {
		var m agent.Message
		if json.Unmarshal(line, &m) == nil && m.Extra["response"] != nil {
			n++
		}
	}
	return n
}

func TestResumeAnswersEveryOpenCall(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(call(agent.ModeTools, "write a", "write b", "write c")))
	ctx, cancel := context.WithCancel(t.Context())
	b.shell.before = func(ctx context.Context, command string) error {
		if command == "write b" {
			b.shell.files += "b;" // it takes effect, but nobody sees its end
			cancel()
		}
		return ctx.Err()
	}
	r := b.run(ctx)
	wantExit(t, r, agent.ExitCancelled)

	b.shell.before = nil
	b.job.Model = replies(call(agent.ModeTools, submit))
	b.job.Resume, b.job.Progress = b.log.lines, b.log.progress
	b.log.lines = bytes.Clone(b.log.lines)
	r = b.run(t.Context())
	wantExit(t, r, agent.ExitSubmitted)
	msgs := b.log.messages(t)
	if got := roles(msgs); got != "system user assistant tool tool tool assistant tool exit" {
		t.Fatal(got)
	}
	for i, m := range msgs[4:6] {
		if m.ToolCallID != fmt.Sprintf("c%d", i+1) || m.Extra["returncode"] != -1.0 ||
			!strings.Contains(m.Content, "whether the command took effect is unknown") {
			t.Errorf("%+v", m)
		}
	}
	if r.Progress.Edits != 1 {
		t.Errorf("the interrupted step changed the tree: edits = %d", r.Progress.Edits)
	}
	if diff := cmp.Diff([]string{"write a", submit}, b.shell.ran); diff != "" {
		t.Error("nothing runs twice:", diff)
	}
}

// Limits count what earlier owners used.
func TestResumeRestoresProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, exit string
		limits     solve.Limits
		edits      int
	}{
		{name: "steps", exit: agent.ExitLimits, limits: solve.Limits{RunSteps: 2}},
		{name: "money", exit: agent.ExitLimits, limits: solve.Limits{RunMoney: 2_000_000}},
		{name: "edits", exit: agent.ExitEdits, edits: 2},
		{name: "output", exit: agent.ExitOutput, limits: solve.Limits{RunOutput: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			list := []agent.Reply{costing(1, call(agent.ModeTools, "write a", "echo 123")), costing(1, call(agent.ModeTools, "write b", "echo 123"))}
			b := setup(agent.ModeTools, &model{answer: func(ctx context.Context, _ []agent.Message, n int) (agent.Reply, error) {
				if n > 2 {
					cancel()
					return agent.Reply{}, ctx.Err()
				}
				return list[n-1], nil
			}})
			wantExit(t, b.run(ctx), agent.ExitCancelled)
			b.job.Limits, b.job.MaxEdits = c.limits, c.edits
			b.job.Resume, b.job.Progress, b.job.Model = b.log.lines, b.log.progress, replies()
			wantExit(t, b.run(t.Context()), c.exit)
		})
	}
}

// Malformed replies in a row are counted across a restart.
func TestResumeCountsFormatErrors(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		ctx, cancel := context.WithCancel(t.Context())
		b := setup(mode, &model{answer: func(ctx context.Context, _ []agent.Message, n int) (agent.Reply, error) {
			if n == 3 {
				cancel()
				return agent.Reply{}, ctx.Err()
			}
			return malformed(), nil
		}})
		wantExit(t, b.run(ctx), agent.ExitCancelled)
		b.job.Resume, b.job.Progress, b.job.Model = b.log.lines, b.log.progress, replies(malformed())
		wantExit(t, b.run(t.Context()), agent.ExitFormat)
	})
}

func TestResumeOfAnExitedRunCallsNobody(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(malformed(), malformed(), malformed()))
	want := b.run(t.Context())
	wantExit(t, want, agent.ExitFormat)
	m := replies()
	b.job.Model, b.job.Resume, b.job.Progress = m, b.log.lines, b.log.progress
	saves := b.log.saves
	got := b.run(t.Context())
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(solve.Progress{}, "At")); diff != "" {
		t.Error(diff)
	}
	if m.calls != 0 || b.log.saves != saves {
		t.Errorf("%d calls, %d saves", m.calls, b.log.saves-saves)
	}
}

func TestResumeOfAFailedRunStaysFailed(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, &model{answer: func(context.Context, []agent.Message, int) (agent.Reply, error) {
		return agent.Reply{}, modelError{context.Canceled}
	}})
	wantExit(t, b.run(t.Context()), "AuthenticationError")
	b.job.Resume = b.log.lines
	r := b.run(t.Context())
	wantExit(t, r, "AuthenticationError")
	if r.Err == nil || r.Reason != "the key of model test was refused" {
		t.Errorf("%+v", r)
	}
}

func TestDamagedTranscripts(t *testing.T) {
	t.Parallel()
	sys, user := `{"role":"system","content":"s"}`+"\n", `{"role":"user","content":"u"}`+"\n"
	asst := `{"role":"assistant","tool_calls":[{"id":"1","name":"bash","arguments":"{}"}]}` + "\n"
	tool, exit := `{"role":"tool","tool_call_id":"1"}`+"\n", `{"role":"exit"}`+"\n"
	for name, lines := range map[string]string{
		"no system message":          user,
		"second system message":      sys + sys,
		"assistant without a task":   sys + asst,
		"observation without a call": sys + user + tool,
		"two observations":           sys + user + asst + tool + tool,
		"call left open":             sys + user + asst + asst,
		"exit in the middle":         sys + user + exit + asst,
		"unknown role":               sys + user + `{"role":"robot"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(agent.ModeTools, replies())
			b.job.Resume = []byte(lines)
			r := b.run(t.Context())
			wantExit(t, r, agent.ExitTranscript)
			if r.Err == nil || b.log.saves != 0 {
				t.Errorf("err %v, %d saves", r.Err, b.log.saves)
			}
		})
	}
}
