package solver_test

import (
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// spent is what a solve's runs paid together.
func spent(list []solve.Run) solve.Money {
	var sum solve.Money
	for _, r := range list {
		sum += r.Progress.Usage.Cost
	}
	return sum
}

// call is the price of one model call in these tests: a cent.
const call = 10_000

// TestBudgetIsShared: the runs of a solve together spend what it may cost, and
// at most one call each beyond. Who comes late does not even begin.
func TestBudgetIsShared(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Limits.Parallel, w.cfg.Limits.SolveUSD = 3, 0.20
		w.cfg.Limits.RunUSD = 1
		w.play("dear", slices.Concat(many(1, dear(call, "write good")), many(30, dear(call, "sleep 1s")))...)
		w.writer()
		w.start("a")
		id := w.ask(with("dear"), times(6))
		w.final(id, solve.StateSolved)
		runs := w.runs(id)
		if sum := spent(runs); sum < 20*call || sum > (20+2)*call {
			w.Errorf("spent %d, want %d and at most two calls more", sum, 20*call)
		}
		if n := w.models.count("dear"); solve.Money(n)*call != spent(runs) {
			w.Errorf("%d calls were made, %d were booked", n, spent(runs))
		}
		for _, r := range runs {
			if r.Exit != agent.ExitBudget {
				w.Errorf("run %d ended %s", r.N, r.Exit)
			}
			if late := r.N > 3; late != (r.State == solve.RunEmpty) || late != (r.Progress.Usage.Calls == 0) {
				w.Errorf("run %d is %s after %d calls", r.N, r.State, r.Progress.Usage.Calls)
			}
		}
	})
}

// TestBudgetOfTheRequest narrows what a solve may cost.
func TestBudgetOfTheRequest(t *testing.T) {
	bubble(t, func(w *world) {
		w.play("dear", many(30, dear(call, "write good"))...)
		w.writer()
		w.start("a")
		id := w.ask(with("dear"), func(s *solve.Solve) { s.Request.Budget = 5 * call })
		w.final(id, solve.StateSolved)
		if sum := spent(w.runs(id)); sum != 5*call {
			w.Errorf("spent %d, want %d", sum, 5*call)
		}
	})
}

// TestBudgetSurvivesARestart: what a dead process spent is spent, once.
func TestBudgetSurvivesARestart(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Limits.SolveUSD = 0.10
		w.play("dear", slices.Concat(many(1, dear(call, "write good")), many(30, dear(call, "sleep 1s")))...)
		w.writer()
		a := w.start("a")
		id := w.ask(with("dear"), times(2))
		w.await(time.Hour, "half of it spent", func() bool { return len(w.runs(id)) > 0 && spent(w.runs(id)) >= 5*call })
		a.kill()
		w.start("b")
		w.final(id, solve.StateSolved)
		runs := w.ends(id, solve.RunPassed, solve.RunPassed)
		if sum := spent(runs); sum < 10*call || sum > 12*call {
			w.Errorf("spent %d, want %d and at most two calls more", sum, 10*call)
		}
		// A reply that the crash caught before it was stored was paid, and nobody can know.
		if n := w.models.count("dear"); solve.Money(n)*call > spent(runs)+2*call {
			w.Errorf("%d calls for %d", n, spent(runs))
		}
	})
}

// TestAttemptsShareTheRunsMoney: a run that is started again does not get its money again.
func TestAttemptsShareTheRunsMoney(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Limits.RunUSD = 0.10
		w.play("dear", slices.Concat(many(1, dear(call, "write good")), many(30, dear(call, "sleep 1s")))...)
		w.writer()
		a := w.start("a")
		id := w.ask(with("dear"))
		w.await(time.Hour, "half of it spent", func() bool { return len(w.runs(id)) > 0 && spent(w.runs(id)) >= 6*call })
		a.kill()
		w.lose(id)
		w.start("b")
		w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if r.Attempt != 2 || r.Exit != agent.ExitLimits || r.Progress.Usage.Cost != 10*call {
			w.Errorf("attempt %d ended %s after %d, want %d", r.Attempt, r.Exit, r.Progress.Usage.Cost, 10*call)
		}
	})
}

// lose closes the sandbox of a solve's first run behind everybody's back.
func (w *world) lose(id solve.ID) {
	w.Helper()
	sb, err := w.driver.Attach(w.Context(), w.run1(id).Sandbox)
	w.must(err)
	w.must(sb.Close(w.Context()))
}
