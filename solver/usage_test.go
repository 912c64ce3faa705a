package solver_test

import (
	"context"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// near says whether the amount is what an hour's price comes to after the time, give or
// take two seconds.
func near(got solve.Money, hourly float64, d time.Duration) bool {
	want := hourly * 1e6 * d.Hours()
	return float64(got) >= want && float64(got) <= want+hourly*1e6*2/3600
}

// TestSandboxesAreBooked: every sandbox of the base and the runs, for as long as it was
// open, at its driver's price; model costs stay what they are.
func TestSandboxesAreBooked(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Tests.Install = installCommand
		w.driver.SetHourly(3.6) // a tenth of a cent for a second
		w.machine.on(installCommand, sleeps(100*time.Second))
		slow := func(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
			if c.Labels["phase"] == "judge" {
				if res, err := pause(ctx, 200*time.Second); err != nil {
					return res, err
				}
			}
			return w.machine.test(ctx, c)
		}
		w.machine.on(testCommand, slow)
		w.play("slower", run("sleep 60s"), run("write good"))
		w.writer()
		w.start("a")
		id := w.ask(with("slower"))
		s := w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if len(s.Base.SandboxUses) != 2 || !near(s.Base.SandboxCost(), 3.6, 100*time.Second) {
			w.Errorf("the base cost %s: %+v", s.Base.SandboxCost(), s.Base.SandboxUses)
		}
		if len(r.SandboxUses) != 2 || r.SandboxUses[0].Phase != "work" || r.SandboxUses[1].Phase != "judge" || r.SandboxUses[0].ID != "fake-"+r.Sandbox {
			w.Errorf("stays %+v", r.SandboxUses)
		}
		if !near(r.SandboxCost(), 3.6, 260*time.Second) || r.SandboxUses[0].Closed.After(r.SandboxUses[1].Opened) {
			w.Errorf("the run cost %s: %+v", r.SandboxCost(), r.SandboxUses)
		}
		if all := solve.SandboxCost(s, w.runs(id)); all != s.Base.SandboxCost()+r.SandboxCost() || s.Plan.Limits.SolveMoney != 10_000_000 {
			w.Errorf("all cost %s", all)
		}
	})
}

// TestSandboxesAreBookedThroughACrash: a sandbox that outlives its owner is booked until
// somebody closes it, and each attempt's is.
func TestSandboxesAreBookedThroughACrash(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.driver.SetHourly(3.6)
		w.slowly("slowly") // ten sleeps of ten seconds
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly"))
		w.steps(id, 3)
		opened := w.run1(id).SandboxUses[0].Opened
		a.kill()
		b := w.start("b")
		w.steps(id, 6)
		if got := w.run1(id); len(got.SandboxUses) != 1 || !got.SandboxUses[0].Opened.Equal(opened) || got.SandboxCost() == 0 {
			w.Errorf("after the first crash: %+v, %s", got.SandboxUses, got.SandboxCost())
		}
		b.kill()
		w.lose(id)
		w.start("c")
		w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if len(r.SandboxUses) != 3 || r.Attempt != 2 {
			w.Fatalf("attempt %d, stays %+v", r.Attempt, r.SandboxUses)
		}
		var booked time.Duration
		for _, s := range r.SandboxUses {
			if s.Closed.Before(s.Opened) {
				w.Errorf("not closed: %+v", s)
			}
			booked += s.Closed.Sub(s.Opened)
		}
		if !near(r.SandboxCost(), 3.6, booked) || booked < time.Minute {
			w.Errorf("cost %s of %s", r.SandboxCost(), booked)
		}
	})
}

// TestCarriedRunsAreNotBookedAgain: a pick opens no sandbox and pays for none.
func TestCarriedRunsAreNotBookedAgain(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.driver.SetHourly(3600)
		w.machine.on(testCommand, func(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
			if _, err := pause(ctx, time.Minute); err != nil {
				return sandbox.Result{}, err
			}
			return w.machine.test(ctx, c)
		})
		w.writer()
		w.start("a")
		s := w.solved()
		w.asked(solve.CommandPick, s.Issue.Number, func(a *solve.Command) { a.N = 2 })
		now, runs := w.next(s, solve.StateSolved)
		if first := solve.SandboxCost(s, w.runs(s.ID)); first == 0 || solve.SandboxCost(now, runs) != 0 {
			w.Errorf("first %s, picked %s", first, solve.SandboxCost(now, runs))
		}
	})
}
