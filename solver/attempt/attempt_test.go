package attempt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/attempt"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// world is a store that notes the changes of one run.
type world struct {
	attempt.Store
	run     solve.Run
	changes []solve.Change
}

func (w *world) Solve(context.Context, solve.ID) (solve.Solve, error) {
	return solve.Solve{ID: "s1"}, nil
}
func (w *world) Runs(context.Context, solve.ID) ([]solve.Run, error) { return []solve.Run{w.run}, nil }

func (w *world) Apply(_ context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	w.changes = append(w.changes, c)
	if c.Event != (solve.Adopted{}) {
		w.run.State = solve.RunFailed // it leaves this attempt
	}
	return solve.Solve{ID: "s1"}, w.run, nil
}

// TestWork: what is left of a run that an earlier owner began, and what becomes of it.
func TestWork(t *testing.T) {
	t.Parallel()
	failed := solve.NameOf(solve.Judged{Verdict: solve.Verdict{Outcome: solve.Failed}})
	refused := &solve.Candidate{Refused: "it changes a workflow"}
	for name, c := range map[string]struct {
		run    solve.Run
		event  solve.EventName
		reason string
	}{
		"the sandbox is gone":           {solve.Run{State: solve.RunWorking, Attempt: 1}, solve.NameOf(solve.Requeued{}), "the sandbox is gone"},
		"the sandbox is gone again":     {solve.Run{State: solve.RunWorking, Attempt: 2}, solve.NameOf(solve.Lost{}), "given up after 2 attempts"},
		"a refused patch is not tested": {solve.Run{State: solve.RunJudging, Candidate: refused}, failed, "refused: it changes a workflow"},
	} {
		c.run.Solve, c.run.N = "s1", 1
		w := &world{run: c.run}
		parts := &attempt.Parts{
			Store: w, Drivers: fakesandbox.Only{Driver: fakesandbox.New(nil)}, Budgets: budget.New(w), MaxAttempts: 2,
		}
		attempt.New(parts, c.run).Work(t.Context(), true)
		last := w.changes[len(w.changes)-1]
		if solve.NameOf(last.Event) != c.event || !strings.Contains(last.Reason, c.reason) || last.Run != 1 {
			t.Errorf("%s: %s %q", name, solve.NameOf(last.Event), last.Reason)
		}
	}
}

func TestNotNeededIsACancel(t *testing.T) {
	t.Parallel()
	err := error(attempt.NotNeeded("run 2 is proven"))
	if !errors.Is(err, agent.ErrCancelled) || err.Error() != "run 2 is proven" {
		t.Errorf("%v", err)
	}
}
