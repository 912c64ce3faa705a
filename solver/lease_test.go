package solver_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// steps waits until the solve's first run has stored so many.
func (w *world) steps(id solve.ID, n int) {
	w.Helper()
	w.await(time.Hour, "some steps", func() bool { r := w.runs(id); return len(r) > 0 && r[0].Progress.Steps >= n })
}

// slowly makes a model with ten steps of 3.1 seconds (no multiple of which meets a lease's times) before the right change.
func (w *world) slowly(name string) {
	w.play(name, slices.Concat(many(10, run("sleep 3100ms")), many(1, run("write good")))...)
}

// TestTwoNodesShareTheWork: what one node has, the other leaves alone.
func TestTwoNodesShareTheWork(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		w.start("b")
		var ids []solve.ID
		for range 3 {
			ids = append(ids, w.ask(times(3)))
		}
		for _, id := range ids {
			w.final(id, solve.StateSolved)
			for _, r := range w.ends(id, slices.Repeat([]solve.RunState{solve.RunPassed}, 3)...) {
				if r.Attempt != 1 {
					w.Errorf("run %d of %s: attempt %d", r.N, id, r.Attempt)
				}
			}
		}
		if work, calls := len(w.driver.specs("work")), w.models.count("good"); work != 9 || calls != 18 {
			w.Errorf("%d sandboxes and %d model calls for 9 runs of 2 calls", work, calls)
		}
		if n := w.machine.count(testCommand); n != 2*3+9 { // a test fails on each base
			w.Errorf("tests ran %d times, want 15", n)
		}
	})
}

// TestLostLeaseStopsEverything before anybody else may take over: a heartbeat
// that fails or does not return, and one that is refused.
func TestLostLeaseStopsEverything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(ctx context.Context) error
		most  time.Duration
	}{
		"fails":   {func(context.Context) error { return errDisk }, 19 * time.Second},
		"hangs":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 19 * time.Second},
		"refused": {func(context.Context) error { return solve.ErrLeaseLost }, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.slowly("slowly")
				w.writer()
				var cut time.Time
				w.machine.on("sleep", func(ctx context.Context, fc fakesandbox.Call) (sandbox.Result, error) {
					res, err := w.machine.command(ctx, fc)
					if ctx.Err() != nil {
						cut = time.Now()
					}
					return res, err
				})
				a := w.start("a")
				id := w.ask(with("slowly"))
				w.steps(id, 2)
				a.store.beat(c.fault)
				broke := time.Now()
				<-a.done
				synctest.Wait() // the fake's command notes its end after Exec has returned
				if !errors.Is(a.err, solve.ErrLeaseLost) {
					w.Errorf("Run returned %v", a.err)
				}
				// The last good heartbeat was up to a quarter of the 20 s before.
				if d := time.Since(broke); d > c.most || cut.IsZero() {
					w.Errorf("stopped after %s; the agent's command was cut: %t", d, !cut.IsZero())
				}
				if r := w.run1(id); r.State != solve.RunWorking {
					w.Errorf("the run is %s, want it as it was", r.State)
				}
				w.start("b")
				w.final(id, solve.StateSolved)
				if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 || r.Progress.Usage.Calls > 13 {
					w.Errorf("attempt %d, %d calls", r.Attempt, r.Progress.Usage.Calls)
				}
			})
		})
	}
}

// TestStaleTokenChangesNothing: who lost a run to another node finds out at its
// next write, and leaves run and sandbox to the new owner.
func TestStaleTokenChangesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		w.slowly("slowly")
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly"))
		w.steps(id, 3)
		a.store.beat(func(context.Context) error { return nil }) // a believes that all is well
		before := w.run1(id)
		w.must(w.store.Leave(w.Context(), "a")) // the store thinks that a is dead
		w.start("b")
		w.final(id, solve.StateSolved)
		after := w.ends(id, solve.RunPassed)[0]
		if after.Attempt != 1 || after.Sandbox != before.Sandbox || after.Lease.Token <= before.Lease.Token {
			w.Errorf("attempt %d in %s with token %d; before in %s with %d", after.Attempt, after.Sandbox, after.Lease.Token, before.Sandbox, before.Lease.Token)
		}
		if _, _, err := w.store.Apply(w.Context(), solve.Change{Solve: id, Run: 1, Token: before.Lease.Token, Event: solve.Lost{}}); !errors.Is(err, solve.ErrLeaseLost) {
			w.Errorf("a write with the old token: %v", err)
		}
		if err := w.store.Step(w.Context(), id, 1, before.Lease.Token, []byte("{}\n"), solve.Progress{At: time.Now()}); !errors.Is(err, solve.ErrLeaseLost) {
			w.Errorf("a step with the old token: %v", err)
		}
	})
}

// TestAdoption: after a crash the next owner attaches and goes on after the last
// stored step; no answer of the model is paid twice.
func TestAdoption(t *testing.T) {
	bubble(t, func(w *world) {
		w.slowly("slowly")
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly"))
		w.steps(id, 5)
		a.kill()
		w.start("b")
		w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		// Ten sleeps, one change, one submission; the step that the crash cut is played again.
		if r.Attempt != 1 || r.Progress.Usage.Calls < 12 || r.Progress.Usage.Calls > 13 || w.models.count("slowly") != r.Progress.Usage.Calls {
			w.Errorf("attempt %d, %d calls booked, %d made", r.Attempt, r.Progress.Usage.Calls, w.models.count("slowly"))
		}
		if n := len(w.driver.specs("work")); n != 1 {
			w.Errorf("%d sandboxes to work in, want 1", n)
		}
	})
}

// TestGracefulStop hands over at once: Run returns nil and nobody waits for a lease to run out.
func TestGracefulStop(t *testing.T) {
	bubble(t, func(w *world) {
		w.slowly("slowly")
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly"))
		w.steps(id, 3)
		asked := time.Now()
		if err := a.stop(); err != nil {
			w.Errorf("Run: %v", err)
		}
		w.start("b")
		token := w.run1(id).Lease.Token
		w.await(time.Second, "the other owner", func() bool { return w.run1(id).Lease.Token > token || w.run1(id).Lease.Node == "b" })
		if d := time.Since(asked); d > 3*time.Second {
			w.Errorf("handed over after %s", d)
		}
		w.final(id, solve.StateSolved)
		if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 {
			w.Errorf("attempt %d", r.Attempt)
		}
	})
}

// TestStopWhileHarvesting leaves the sandbox to the next process, which harvests again.
func TestStopWhileHarvesting(t *testing.T) {
	bubble(t, func(w *world) {
		w.machine.on("harvest", sleeps(50*time.Second))
		w.writer()
		a := w.start("a")
		id := w.ask()
		w.runState(id, solve.RunHarvesting)
		asked := time.Now()
		w.must(a.stop())
		if d := time.Since(asked); d > 5*time.Second {
			w.Errorf("stopped after %s", d)
		}
		w.machine.on("harvest", nil)
		w.start("b")
		w.final(id, solve.StateSolved)
		if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 || w.models.count("good") != 2 {
			w.Errorf("attempt %d, %d calls", r.Attempt, w.models.count("good"))
		}
	})
}

// TestGoneSandbox: a dead owner's run whose sandbox died too begins anew; after
// as many attempts as are allowed it is lost.
func TestGoneSandbox(t *testing.T) {
	bubble(t, func(w *world) {
		w.slowly("slowly")
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly", "good"))
		w.steps(id, 3)
		a.kill()
		w.lose(id)
		b := w.start("b")
		w.await(time.Minute, "the second attempt", func() bool { return strings.HasSuffix(w.run1(id).Sandbox, "-1-2") })
		b.kill()
		w.lose(id)
		w.start("c")
		w.final(id, solve.StateSolved)
		if r := w.ends(id, solve.RunLost, solve.RunPassed)[0]; r.Attempt != 2 {
			w.Errorf("attempt %d: %s", r.Attempt, r.Reason)
		}
	})
}

// TestAdoptionBeforeTheSandboxIsStored: owners that die between the admission of
// a run and the news that its sandbox is open use up no attempt.
func TestAdoptionBeforeTheSandboxIsStored(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		var id solve.ID
		for _, node := range []string{"a", "b", "c"} { // one more than there are attempts
			p, died := w.process(node), make(chan struct{})
			p.store.on(func(op string, c solve.Change) error {
				if op != "apply" || solve.NameOf(c.Event) != solve.EventStarted {
					return nil
				}
				p.store.kill()
				p.driver.kill()
				close(died)
				return errDead
			}, nil)
			p.run()
			if id == "" {
				id = w.ask()
			}
			select {
			case <-died:
			case <-time.After(time.Hour):
				w.Fatalf("node %s never opened the sandbox\n%s", node, w.dump())
			}
			p.kill()
		}
		w.start("d")
		w.final(id, solve.StateSolved)
		if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 || w.models.count("good") != 2 {
			w.Errorf("attempt %d, %d calls", r.Attempt, w.models.count("good"))
		}
	})
}

// TestCrashAtEachStep kills the process just before and just after it has
// stored each step of a solve's life. The next one finishes it: one champion,
// one pull request, nothing left behind.
func TestCrashAtEachStep(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for _, ev := range []solve.EventName{
		solve.EventClaimed, solve.EventBaseReady, solve.EventStarted, solve.EventAgentEnded, solve.EventHarvested,
		solve.EventPassed, solve.EventChampion, solve.EventPublished,
	} {
		for _, after := range []bool{false, true} {
			name := "before "
			if after {
				name = "after "
			}
			t.Run(name+string(ev), func(t *testing.T) {
				bubble(t, func(w *world) { crashAt(w, ev, after) })
			})
		}
	}
}

func crashAt(w *world, ev solve.EventName, after bool) {
	w.cfg.Tests.Install = installCommand
	w.cfg.SweepEvery = time.Minute
	writer := w.writer()
	a := w.process("a")
	crashed := make(chan struct{})
	die := func(op string, c solve.Change) error {
		if op != "apply" || solve.NameOf(c.Event) != ev {
			return nil
		}
		a.store.kill()
		a.driver.kill()
		select {
		case <-crashed:
		default:
			close(crashed)
		}
		return errDead
	}
	if after {
		a.store.on(nil, func(op string, c solve.Change) { _ = die(op, c) })
	} else {
		a.store.on(die, nil)
	}
	a.run()
	id := w.ask(with("good"))
	<-crashed
	a.kill()
	w.start("b")
	s := w.final(id, solve.StateSolved)
	w.ends(id, solve.RunPassed)
	if s.Decision.Champion != 1 || writer.count() != 1 {
		w.Errorf("champion %d, %d pull requests", s.Decision.Champion, writer.count())
	}
	if n := w.models.count("good"); ev != solve.EventStarted && n > 3 {
		w.Errorf("%d model calls, want 2 and at most the one that the crash cut", n)
	}
}

// TestAgentOfAnotherConfiguration: a run planned before a restart that took its
// agent away ends with the reason, and the process lives.
func TestAgentOfAnotherConfiguration(t *testing.T) {
	bubble(t, func(w *world) {
		w.slowly("slowly")
		a := w.start("a")
		id := w.ask(with("slowly"))
		w.steps(id, 3)
		w.must(a.stop())
		w.agents = map[string]agent.Agent{}
		w.start("b")
		w.final(id, solve.StateUnsolved)
		if r := w.ends(id, solve.RunError)[0]; !strings.Contains(r.Reason, `agent "mini" is not configured any more`) {
			w.Errorf("reason %q", r.Reason)
		}
	})
}

// TestLeasedSaysUntilWhen: in the future while the engine works, over when it does not.
func TestLeasedSaysUntilWhen(t *testing.T) {
	bubble(t, func(w *world) {
		p := w.process("a")
		if p.engine.Leased().After(time.Now()) {
			t.Error("leased before it runs")
		}
		p.run()
		w.await(time.Second, "the lease", func() bool { return p.engine.Leased().After(time.Now()) })
		<-time.After(10 * w.cfg.LeaseTime)
		if left := time.Until(p.engine.Leased()); left < w.cfg.LeaseTime/2 || left > w.cfg.LeaseTime {
			t.Errorf("leased for %s more", left)
		}
		w.must(p.stop())
		synctest.Wait()
		if p.engine.Leased().After(time.Now()) {
			t.Error("leased after its end")
		}
	})
}
