package solver_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// TestChangeWaitsForAFullDisk: the lease can be renewed, since that takes little,
// while no change of state finds room for several times the lease's length. What
// this node owns is nobody else's then: it asks until there is room.
func TestChangeWaitsForAFullDisk(t *testing.T) {
	require.Daily(t)
	for _, ev := range []solve.EventName{solve.EventBaseReady, solve.EventStarted, solve.EventAgentEnded, solve.EventPassed, solve.EventChampion} {
		t.Run(string(ev), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.writer()
				var full time.Time
				p := w.process("a")
				p.store.on(func(op string, c solve.Change) error {
					if op == "apply" && solve.NameOf(c.Event) == ev && full.IsZero() {
						full = time.Now()
					}
					if op == "apply" && !full.IsZero() && time.Since(full) < 5*time.Minute {
						return errDisk
					}
					return nil
				}, nil)
				p.run()
				id := w.ask()
				w.final(id, solve.StateSolved)
				if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 || w.models.count("good") != 2 {
					w.Errorf("attempt %d, %d calls", r.Attempt, w.models.count("good"))
				}
			})
		})
	}
}

// TestStopOnAFullDisk: a process that is asked to stop does not wait for room.
func TestStopOnAFullDisk(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		p := w.process("a")
		full := make(chan struct{})
		first := true
		p.store.on(func(op string, c solve.Change) error {
			if op != "apply" || solve.NameOf(c.Event) != solve.EventAgentEnded {
				return nil
			}
			if first {
				first = false
				close(full)
			}
			return errDisk
		}, nil)
		p.run()
		id := w.ask()
		<-full
		began := time.Now()
		w.must(p.stop())
		if d := time.Since(began); d > time.Minute {
			w.Errorf("stopped after %s", d)
		}
		w.start("b")
		w.final(id, solve.StateSolved)
	})
}

// TestLostBaseIsMadeAgain: the sandboxes' directory was emptied, or the store
// came back on another machine, while a run worked.
func TestLostBaseIsMadeAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.slowly("slowly")
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly", "slowly"), times(2))
		w.steps(id, 3)
		a.kill()
		for _, r := range w.runs(id) {
			sb, err := w.driver.Attach(w.Context(), r.Sandbox)
			w.must(err)
			w.must(sb.Close(w.Context()))
		}
		w.must(w.driver.Thaw(w.Context(), "y-"+string(id)+"-base"))
		w.start("b")
		w.final(id, solve.StateSolved)
		w.ends(id, solve.RunPassed, solve.RunPassed)
		if n := len(w.driver.specs("prepare")); n != 2 {
			w.Errorf("the base was made %d times, want 2", n)
		}
	})
}

// TestWorkWaitsForAFullDisk: a step or a file that finds no room for several
// times the lease's length costs neither the run nor what was paid for it.
func TestWorkWaitsForAFullDisk(t *testing.T) {
	require.Daily(t)
	for _, what := range []string{"step", "artifact"} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.writer()
				var full time.Time
				p := w.process("a")
				p.store.on(func(op string, c solve.Change) error {
					if op == what && full.IsZero() {
						full = time.Now()
					}
					if op == what && time.Since(full) < 5*time.Minute {
						return fmt.Errorf("write: %w", syscall.ENOSPC)
					}
					return nil
				}, nil)
				p.run()
				id := w.ask()
				w.final(id, solve.StateSolved)
				if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 || w.models.count("good") != 2 {
					w.Errorf("attempt %d, %d calls", r.Attempt, w.models.count("good"))
				}
			})
		})
	}
}
