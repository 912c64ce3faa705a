package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestQueueAndDay: with one seat taken, who waits is told at once that it was heard, and
// its place; it goes on in the same comment. The day's last solve is followed by a refusal.
func TestQueueAndDay(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	w.cfg.Solver.Defaults.Models = []string{"careful"}
	w.cfg.Solver.MaxSolves, w.cfg.Solver.Daily.Repository.Solves = 1, 2
	w.cfg.Solver.Tests.Install = "sleep 10"
	srv, _ := w.serve()
	first := w.issueIs("the first")
	w.label(first)
	w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.State == solve.StatePreparing })

	second := w.issueIs("the second")
	w.label(second)
	w.awaitComments([]string{"Waiting in the queue: 1st of 1."})
	if seen := w.reactions(0); len(seen) != 1 || seen[0] != solve.ReactionSeen {
		t.Errorf("reactions while it waits: %q", seen)
	}
	w.until(srv, 2*time.Minute, func(v report.View) bool { return v.Solve.State != solve.StateQueued })
	third := w.issueIs("the third")
	w.label(third)
	w.awaitComments([]string{"Waiting in the queue: 1st of 1."})

	for _, n := range []int{first, second} {
		w.issue = n
		if v := w.final(srv, 3*time.Minute); v.Solve.State != solve.StateSolved {
			t.Errorf("the solve of #%d is %s: %s", n, v.Solve.State, v.Solve.Reason)
		}
		if n, waits := w.comments("kind=comment"), w.comments("Waiting for"); n != 1 || waits != 0 {
			t.Errorf("%d progress comments, %d of them say that they wait", n, waits)
		}
	}
	w.issue = third
	v := w.final(srv, time.Minute)
	if v.Solve.State != solve.StateFailed || !v.Solve.Refused || !strings.Contains(v.Solve.Reason, "solver.daily.repository.solves") {
		t.Errorf("the third is %s: %s", v.Solve.State, v.Solve.Reason)
	}
	w.awaitComments([]string{"This repository has started 2 solves in the last 24 hours"})
	if n := w.comments("Waiting for"); n != 0 {
		t.Errorf("%d comments still say that it waits", n)
	}
}
