package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// grown is a work tree.
type grown struct{ tree string }

func (g *grown) Tree(ctx context.Context) (string, error) { return g.tree, ctx.Err() }

// kept is a job whose gateway has counted five calls, three of them before this owner.
func kept(l *log, m *grown) agent.Job {
	return agent.Job{
		Task: "Sum of an empty list", Tree: m.Tree, Save: l.save, Progress: solve.Progress{Steps: 2, Usage: solve.Usage{Calls: 3}},
		Gateway: &agent.GatewaySession{
			Token: "the-token", LastError: func() error { return nil },
			Usage: func() solve.Usage { return solve.Usage{Calls: 5} },
		},
	}
}

func TestRecorderKeepsARun(t *testing.T) {
	t.Parallel()
	var l log
	m := &grown{tree: "a"}
	rec, before := agent.NewRecorder(kept(&l, m), "the-secret", "")
	task, err := rec.TaskMessage(t.Context())
	if err != nil || len(before) > 0 || task.Role != agent.RoleStart || !strings.Contains(task.Content, "Sum of an empty list") {
		t.Fatalf("%v, %v, %+v", err, before, task)
	}
	m.tree = "b"
	rec.Printed = 7
	if err := rec.CheckTree(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rec.Append(t.Context(), task, agent.Message{Role: agent.RoleOutput, Content: "the-token, the-secret"}); err != nil {
		t.Fatal(err)
	}
	got := l.messages(t)
	if len(got) != 2 || got[1].Content != "[run token], [run token]" || got[0].Extra["timestamp"] == nil {
		t.Errorf("stored %+v", got)
	}
	for _, p := range []solve.Progress{l.progress, rec.Result(agent.Result{}).Progress} {
		if p.Steps != 4 || p.Usage.Calls != 5 || p.Edits != 1 || p.Output != 7 || p.At.IsZero() {
			t.Errorf("progress %+v", p)
		}
	}
}

// An owner that died inside its first line leaves nothing that the next line is glued to.
func TestRecorderAfterATornLine(t *testing.T) {
	t.Parallel()
	l := log{lines: []byte(`{"role":"sta`)}
	j := kept(&l, nil)
	j.Resume = l.lines
	rec, before := agent.NewRecorder(j)
	if err := errors.Join(rec.Save(t.Context(), nil), rec.Append(t.Context(), agent.Message{Role: agent.RoleStart, Content: "x"}),
		rec.Append(t.Context(), agent.Message{Role: agent.RoleOutput, Content: "y"})); err != nil {
		t.Fatal(err)
	}
	if got, torn := agent.ReadTranscript(l.lines); len(before) > 0 || torn || roles(got) != "start output" || strings.Count(string(l.lines), "\n") != 3 {
		t.Errorf("before %v, now %q", before, l.lines)
	}
}

func TestRecorderThatCannotSave(t *testing.T) {
	t.Parallel()
	j := kept(&log{}, nil)
	j.Save = func(context.Context, []byte, solve.Progress) error { return solve.ErrLeaseLost }
	rec, _ := agent.NewRecorder(j)
	err := rec.Append(t.Context(), agent.Message{Role: agent.RoleOutput})
	if !errors.Is(err, agent.ErrSave) || !errors.Is(err, solve.ErrLeaseLost) || agent.FailureResult(t.Context(), err).Exit != agent.ExitStore {
		t.Error(err)
	}
	if other := errors.New("no sandbox"); agent.FailureResult(t.Context(), other).Exit != agent.ExitSandbox {
		t.Error("another failure is not the sandbox's")
	}
}

func TestRecorderLimits(t *testing.T) {
	t.Parallel()
	const patience, failing = time.Second, time.Minute
	for name, c := range map[string]struct {
		change  func(l *agent.Recorder)
		failing time.Duration
		after   time.Duration // how long it may go on; 0: not at all, negative: as it likes
		exit    string
	}{
		"none":            {func(*agent.Recorder) {}, failing, -1, ""},
		"edits":           {func(l *agent.Recorder) { l.Job.MaxEdits, l.Progress.Edits = 2, 2 }, failing, 0, agent.ExitEdits},
		"fewer edits":     {func(l *agent.Recorder) { l.Job.MaxEdits, l.Progress.Edits = 2, 1 }, failing, -1, ""},
		"output":          {func(l *agent.Recorder) { l.Job.Limits.RunOutput, l.Printed = 10, 11 }, failing, 0, agent.ExitOutput},
		"all its output":  {func(l *agent.Recorder) { l.Job.Limits.RunOutput, l.Printed = 10, 10 }, failing, -1, ""},
		"budget":          {says(agent.ErrBudget), failing, patience, agent.ExitBudget},
		"money":           {says(agent.ErrLimit), 0, patience, agent.ExitLimits},
		"fails":           {says(errors.New("down")), failing, failing, agent.ExitModel},
		"fails, let be":   {says(errors.New("down")), 0, -1, ""},
		"fails by a name": {says(modelError{errors.New("no")}), failing, failing, agent.StatusAuthentication},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rec, _ := agent.NewRecorder(kept(&log{}, nil))
				c.change(rec)
				if res, over := rec.LimitReached(patience, c.failing); over != (c.after == 0) || over && res.Exit != c.exit {
					t.Fatalf("at once: %v, %+v", over, res)
				}
				almost := c.after - time.Nanosecond
				if c.after < 0 {
					almost = time.Hour
				}
				<-time.After(almost)
				if res, over := rec.LimitReached(patience, c.failing); over && c.after > 0 {
					t.Errorf("too soon: %+v", res)
				}
				<-time.After(time.Nanosecond)
				if res, over := rec.LimitReached(patience, c.failing); over != (c.after >= 0) || res.Exit != c.exit {
					t.Errorf("later: %v, %+v", over, res)
				}
			})
		})
	}
}

// says lets the last call have failed.
func says(err error) func(*agent.Recorder) {
	return func(l *agent.Recorder) {
		l.Job.Gateway.LastError = func() error { return fmt.Errorf("call: %w", err) }
	}
}

// Calls that succeed again restart the patience.
func TestRecorderCallsSucceedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec, _ := agent.NewRecorder(kept(&log{}, nil))
		open := rec.Job.Gateway.LastError
		for range 3 {
			says(agent.ErrBudget)(rec)
			for range 2 {
				if _, over := rec.LimitReached(time.Second, 0); over {
					t.Fatal("it ended before its time")
				}
				<-time.After(time.Second / 2)
			}
			rec.Job.Gateway.LastError = open
			rec.LimitReached(time.Second, 0)
		}
	})
}
