package agent_test

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
	"github.com/yudai-dev/yudai/solve"
)

func TestSubmission(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		b := setup(mode, replies(call(mode, "echo hello"), call(mode, "final")))
		b.shell.output = map[string]answer{"final": {Text: "\n " + agent.SubmitMarker + " \nline 1\n  line 2\n"}}
		r := b.run(t.Context())
		wantExit(t, r, agent.ExitSubmitted)
		if r.Submission != "line 1\n  line 2\n" {
			t.Errorf("submission = %q", r.Submission)
		}
		if r.Progress.Steps != 2 || r.Progress.Usage.Calls != 2 || r.Progress.Usage.Input != 200 || r.Progress.Usage.Output != 20 {
			t.Errorf("progress = %+v", r.Progress)
		}
		// Tool-call mode has one message more than mini's default agent: the
		// submitting call is answered, as its interactive agent does.
		want := "system user assistant user assistant exit"
		if mode == agent.ModeTools {
			want = "system user assistant tool assistant tool exit"
		}
		if diff := cmp.Diff(want, roles(b.log.messages(t))); diff != "" {
			t.Error(diff)
		}
		exit := b.log.messages(t)[len(b.log.messages(t))-1]
		if exit.Extra["exit_status"] != agent.ExitSubmitted || exit.Extra["submission"] != r.Submission {
			t.Errorf("exit message = %+v", exit)
		}
	})
}

func TestSubmissionForms(t *testing.T) {
	t.Parallel()
	mark := agent.SubmitMarker
	for _, c := range []struct {
		name, text string
		code       int
		timedOut   bool
		submits    bool
		want       string
	}{
		{name: "alone", text: mark + "\n", submits: true},
		{name: "no line end", text: mark, submits: true},
		{name: "carriage return", text: mark + "\r\nx", submits: true, want: "x"},
		{name: "blank lines first", text: "\n\t\n" + mark + "\nx", submits: true, want: "x"},
		{name: "carriage return alone", text: mark + "\rx\r\n", submits: true, want: "x\r\n"},
		{name: "form feed", text: mark + "\fx", submits: true, want: "x"},
		{name: "line separator", text: mark + "\u2028x\ny", submits: true, want: "x\ny"},
		{name: "odd spaces", text: "\x1c\u0085\u00a0\u2028" + mark + "\x1f \u3000\nx", submits: true, want: "x"},
		{name: "zero width space", text: "\u200b" + mark},
		{name: "failed command", text: mark, code: 1},
		{name: "timed out", text: mark, code: 0, timedOut: true},
		{name: "not the first line", text: "done\n" + mark},
		{name: "inside a line", text: "say " + mark},
		{name: "longer word", text: mark + "S"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(agent.ModeTools, replies(call(agent.ModeTools, "x"), call(agent.ModeTools, submit)))
			b.shell.output = map[string]answer{"x": {Text: c.text, ExitCode: c.code, TimedOut: c.timedOut}}
			r := b.run(t.Context())
			wantExit(t, r, agent.ExitSubmitted)
			if got := r.Progress.Steps == 1; got != c.submits || r.Submission != c.want {
				t.Errorf("submits = %v with %q, want %v with %q", got, r.Submission, c.submits, c.want)
			}
		})
	}
}

func TestSeveralActions(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(call(agent.ModeTools, "echo 1", "false", submit, "write late")))
	r := b.run(t.Context())
	wantExit(t, r, agent.ExitSubmitted)
	if diff := cmp.Diff([]string{"echo 1", "false", submit}, b.shell.ran); diff != "" {
		t.Error("in order, nothing after the submission:", diff)
	}
	msgs := b.log.messages(t)
	if got := roles(msgs); got != "system user assistant tool tool tool tool exit" {
		t.Fatal(got)
	}
	var got []string
	for _, m := range msgs[3:7] {
		got = append(got, fmt.Sprintf("%s %v %v", m.ToolCallID, m.Extra["returncode"], m.Extra["exception_info"]))
	}
	want := []string{"c0 0 ", "c1 1 ", "c2 -1 action was not executed", "c3 -1 action was not executed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStepLimit(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		m := replies(call(mode, "echo 1"))
		b := setup(mode, m)
		b.job.Limits.RunSteps = 1
		wantExit(t, b.run(t.Context()), agent.ExitLimits)
		if m.calls != 1 || len(b.shell.ran) != 1 {
			t.Errorf("%d calls, ran %q", m.calls, b.shell.ran)
		}
	})
}

func TestMoneyLimit(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		m := replies(costing(1, call(mode, "a")), costing(1, call(mode, "b")), costing(1, call(mode, "c")))
		b := setup(mode, m)
		b.job.Limits.RunMoney = 2_000_000
		r := b.run(t.Context())
		wantExit(t, r, agent.ExitLimits)
		if m.calls != 2 || r.Progress.Usage.Cost != 2_000_000 {
			t.Errorf("%d calls, cost %d", m.calls, r.Progress.Usage.Cost)
		}
	})
}

func TestWallLimitCountsEarlierOwnersAndInterruptsNothing(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		synctest.Test(t, func(t *testing.T) {
			b := setup(mode, replies(call(mode, "a"), call(mode, "b")))
			b.shell.before = func(context.Context, string) error {
				<-time.After(20 * time.Second)
				return nil
			}
			b.job.Limits.RunTime = time.Minute
			b.job.Elapsed = 25 * time.Second
			start := time.Now()
			wantExit(t, b.run(t.Context()), agent.ExitTime)
			if len(b.shell.ran) != 2 || time.Since(start) != 40*time.Second {
				t.Errorf("ran %q in %s", b.shell.ran, time.Since(start))
			}
		})
	})
}

func TestTimeoutIsAnObservation(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		b := setup(mode, replies(call(mode, "hang"), call(mode, submit)))
		b.job.Limits.CommandTime = 30 * time.Second
		wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
		o := b.log.messages(t)[3]
		for _, want := range []string{"partial output", "30s", "-1"} {
			if !strings.Contains(o.Content, want) {
				t.Errorf("%q is missing in %s", want, o.Content)
			}
		}
		if o.Extra["exception_type"] != "TimeoutExpired" || o.Extra["returncode"] != -1.0 || o.Extra["raw_output"] != "partial output" {
			t.Errorf("extra = %v", o.Extra)
		}
	})
}

// A reply whose command is empty does nothing and the run goes on.
func TestEmptyCommandContinues(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		b := setup(mode, replies(call(mode, ""), call(mode, submit)))
		wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
		if diff := cmp.Diff([]string{":", submit}, b.shell.ran); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFormatErrorLimit(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		m := replies(malformed(), malformed(), malformed())
		b := setup(mode, m)
		wantExit(t, b.run(t.Context()), agent.ExitFormat)
		msgs := b.log.messages(t)
		if m.calls != 3 || roles(msgs) != "system user user user user exit" {
			t.Errorf("%d calls: %s", m.calls, roles(msgs))
		}
		extra := msgs[2].Extra
		if extra["interrupt_type"] != "FormatError" || extra["response"].(map[string]any)["id"] != "bad" {
			t.Errorf("extra = %v", extra)
		}
		if _, ok := extra["n_actions"]; ok != (mode == agent.ModeText) {
			t.Errorf("n_actions in mode %s: %v", mode, ok)
		}
	})
}

func TestFormatErrorCounterResets(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		b := setup(mode, replies(malformed(), malformed(), call(mode, "echo"), malformed(), malformed(), call(mode, submit)))
		wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	})
}

func TestFormatErrorsAreCharged(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		m := replies(costing(1, malformed()), costing(1, malformed()), costing(1, malformed()), costing(1, malformed()))
		b := setup(mode, m)
		b.cfg.MaxFormatErrors = 0
		b.job.Limits.RunMoney = 2_500_000
		var spent solve.Money
		b.job.AddCost = func(c solve.Money) { spent += c }
		wantExit(t, b.run(t.Context()), agent.ExitLimits)
		if m.calls != 3 || spent != 3_000_000 {
			t.Errorf("%d calls, spent %d", m.calls, spent)
		}
	})
}

func TestMaxEdits(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		m := replies(call(mode, "echo look"), call(mode, "write a"), call(mode, "false"), call(mode, "write b"), call(mode, submit))
		b := setup(mode, m)
		b.job.MaxEdits = 2
		r := b.run(t.Context())
		wantExit(t, r, agent.ExitEdits)
		if m.calls != 4 || r.Progress.Edits != 2 || b.shell.files != "a;b;" {
			t.Errorf("%d calls, %d edits, files %q", m.calls, r.Progress.Edits, b.shell.files)
		}
		if first := b.log.messages(t)[1].Content; !strings.Contains(first, "2 steps that may change files") {
			t.Error("the model is not told of the limit:", first)
		}
	})
}

// A step counts once, however many of its commands change the tree, and a
// submission in the last edit still is one.
func TestEditsCountSteps(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(call(agent.ModeTools, "write a", "write b", submit)))
	b.job.MaxEdits = 1
	r := b.run(t.Context())
	wantExit(t, r, agent.ExitSubmitted)
	if r.Progress.Edits != 1 {
		t.Errorf("edits = %d", r.Progress.Edits)
	}
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(call(agent.ModeTools, "echo 1234", "echo 1234", "echo 1234")))
	b.job.Limits.RunOutput = 8
	r := b.run(t.Context())
	wantExit(t, r, agent.ExitOutput)
	if len(b.shell.ran) != 2 || r.Progress.Output != 10 {
		t.Errorf("ran %q, %d bytes", b.shell.ran, r.Progress.Output)
	}
	if got := roles(b.log.messages(t)); got != "system user assistant tool tool tool exit" {
		t.Error(got)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	m := replies(costing(1, call(agent.ModeTools, "a")))
	b := setup(agent.ModeTools, m)
	left := solve.Money(500_000)
	b.job.CheckBudget = func() error {
		if left <= 0 {
			return fmt.Errorf("solve: %w", agent.ErrBudget)
		}
		return nil
	}
	b.job.AddCost = func(c solve.Money) { left -= c }
	r := b.run(t.Context())
	wantExit(t, r, agent.ExitBudget)
	if m.calls != 1 || r.Err != nil {
		t.Errorf("%d calls, err %v", m.calls, r.Err)
	}
}

func TestBudgetThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	broken := errors.New("store closed")
	m := replies()
	b := setup(agent.ModeTools, m)
	b.job.CheckBudget = func() error { return broken }
	r := b.run(t.Context())
	wantExit(t, r, agent.ExitBudget)
	if m.calls != 0 || !errors.Is(r.Err, broken) {
		t.Errorf("%d calls, err %v", m.calls, r.Err)
	}
}

type modelError struct{ error }

func (modelError) ExitStatus() string { return "AuthenticationError" }
func (modelError) Public() string     { return "the key of model test was refused" }

func TestModelErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err          error
		exit, reason string
	}{
		{modelError{errors.New("secret detail")}, "AuthenticationError", "the key of model test was refused"},
		{errors.New("secret detail"), agent.ExitModel, "the model call failed"},
	} {
		m := &model{answer: func(context.Context, []agent.Message, int) (agent.Reply, error) { return agent.Reply{}, c.err }}
		b := setup(agent.ModeTools, m)
		r := b.run(t.Context())
		wantExit(t, r, c.exit)
		if r.Reason != c.reason || !errors.Is(r.Err, c.err) || r.Progress.Steps != 1 {
			t.Errorf("%+v", r)
		}
		if strings.Contains(string(b.log.lines), "secret") {
			t.Error("the transcript holds the error's details")
		}
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	lost := errors.New("lease lost")
	for _, c := range []struct {
		cause        error
		exit, reason string
		stored       bool
	}{
		{agent.ErrRunTime, agent.ExitTime, agent.ErrRunTime.Error(), true},
		{agent.ErrSolveTime, agent.ExitTime, agent.ErrSolveTime.Error(), true},
		{context.DeadlineExceeded, agent.ExitTime, agent.ErrRunTime.Error(), true},
		{agent.ErrCancelled, agent.ExitCancelled, agent.ErrCancelled.Error(), true},
		{lost, agent.ExitCancelled, "the worker of the run stopped", false},
	} {
		for _, where := range []string{"model", "command", "between"} {
			t.Run(c.cause.Error()+" "+where, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancelCause(t.Context())
				m := &model{answer: func(ctx context.Context, _ []agent.Message, n int) (agent.Reply, error) {
					if where == "model" {
						cancel(c.cause)
						return agent.Reply{}, ctx.Err()
					}
					return call(agent.ModeTools, "x"), nil
				}}
				b := setup(agent.ModeTools, m)
				b.shell.before = func(ctx context.Context, _ string) error {
					cancel(c.cause)
					if where == "command" {
						return ctx.Err()
					}
					return nil
				}
				r := b.run(ctx)
				wantExit(t, r, c.exit)
				if r.Reason != c.reason {
					t.Errorf("reason = %q", r.Reason)
				}
				if stored := strings.HasSuffix(roles(b.log.messages(t)), "exit"); stored != c.stored {
					t.Errorf("exit stored = %v: %s", stored, roles(b.log.messages(t)))
				}
				if got := errors.Is(r.Err, lost); got == c.stored {
					t.Errorf("err = %v", r.Err)
				}
				if where == "between" && !strings.Contains(roles(b.log.messages(t)), "tool") {
					t.Error("the observation of the finished command is not kept")
				}
			})
		}
	}
}

func TestSandboxErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	gone := errors.New("sandbox gone")
	b := setup(agent.ModeTools, replies(call(agent.ModeTools, "x")))
	b.shell.before = func(context.Context, string) error { return gone }
	r := b.run(t.Context())
	wantExit(t, r, agent.ExitSandbox)
	if !errors.Is(r.Err, gone) {
		t.Error(r.Err)
	}
}

func TestSaveErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	m := replies(call(agent.ModeTools, "x"))
	b := setup(agent.ModeTools, m)
	b.job.Save = func(ctx context.Context, lines []byte, p solve.Progress) error {
		if m.calls > 0 {
			return solve.ErrLeaseLost
		}
		return nil
	}
	r := b.run(t.Context())
	wantExit(t, r, agent.ExitStore)
	if !errors.Is(r.Err, solve.ErrLeaseLost) || len(b.shell.ran) != 0 {
		t.Errorf("err %v, ran %q", r.Err, b.shell.ran)
	}
}

// Everything is stored before what depends on it: the first two messages before
// the first call, the reply before its commands, the observation before the next call.
func TestStoredBeforeUsed(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, nil)
	b.job.Model = &model{answer: func(_ context.Context, history []agent.Message, n int) (agent.Reply, error) {
		if got := roles(b.log.messages(t)); got != roles(history) {
			t.Errorf("call %d: stored %q, sent %q", n, got, roles(history))
		}
		if n == 1 && b.log.saves != 1 {
			t.Errorf("%d saves before the first call", b.log.saves)
		}
		if n == 3 {
			return call(agent.ModeTools, submit), nil
		}
		return call(agent.ModeTools, "a", "b"), nil
	}}
	b.shell.before = func(context.Context, string) error {
		if got := roles(b.log.messages(t)); !strings.HasSuffix(got, "assistant") && !strings.HasSuffix(got, "assistant tool") {
			t.Errorf("a command runs with %q stored", got)
		}
		if b.log.progress.Steps == 0 {
			t.Error("the call is not in the stored progress")
		}
		return nil
	}
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
}

func TestTimestamps(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		b := setup(mode, replies(malformed(), call(mode, "echo"), call(mode, submit)))
		wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
		for i, m := range b.log.messages(t)[2:] {
			if at, ok := m.Extra["timestamp"].(float64); !ok || at < 1e9 {
				t.Errorf("message %d (%s): timestamp %v", i+2, m.Role, m.Extra["timestamp"])
			}
		}
	})
}

type moder struct {
	*model
	mode *string
}

func (m moder) InMode(mode string) agent.Model {
	*m.mode = mode
	return m.model
}

func TestModelIsToldTheMode(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		var told string
		b := setup(mode, moder{replies(call(mode, submit)), &told})
		wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
		if told != mode {
			t.Errorf("told %q", told)
		}
	})
}

// Calls without an id, or with one twice, get one, so that each can be answered.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	bad := call(agent.ModeTools, "a", "b", "c")
	for i, id := range []string{"", "x", "x"} {
		bad.Message.ToolCalls[i].ID = id
	}
	b := setup(agent.ModeTools, replies(bad, call(agent.ModeTools, submit)))
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	var got []string
	for _, m := range b.log.messages(t)[3:6] {
		got = append(got, m.ToolCallID)
	}
	if diff := cmp.Diff([]string{"call_1_1", "x", "call_1_3"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFailedQueryIsPaid: what the tries of a query cost counts for the run and the solve, though
// no try was answered, and it is no step of its own.
func TestFailedQueryIsPaid(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, &model{answer: func(context.Context, []agent.Message, int) (agent.Reply, error) {
		return agent.Reply{Usage: solve.Usage{Input: 300, Cost: 30, Estimated: 1}}, errors.New("no answer")
	}})
	var spent solve.Money
	b.job.AddCost = func(c solve.Money) { spent += c }
	if r := b.run(t.Context()); r.Progress.Usage != (solve.Usage{Input: 300, Cost: 30, Estimated: 1}) || spent != 30 {
		t.Errorf("%+v, spent %s", r.Progress, spent)
	}
}
