package solver_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// cancel asks for it now and waits for the end, which must come within five seconds.
func (w *world) cancel(id solve.ID) solve.Solve {
	w.Helper()
	asked := time.Now()
	_, err := w.store.RequestCancel(w.Context(), id, "bob", "")
	w.must(err)
	s := w.final(id, solve.StateCancelled)
	if d := s.Ended.Sub(asked); d > 5*time.Second {
		w.Errorf("cancelled after %s, want at most 5s", d)
	}
	if s.CancelBy != "bob" || s.Reason == "" {
		w.Errorf("cancelled by %q: %q", s.CancelBy, s.Reason)
	}
	return s
}

// TestCancelBeforeTheRuns in each state that has none yet.
func TestCancelBeforeTheRuns(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]func(w *world) solve.ID{
		"unclaimed": func(w *world) solve.ID { return w.ask() },
		"planning": func(w *world) solve.ID {
			w.hub.refuse("permission", fault{passes: true})
			w.start("a")
			id := w.ask()
			w.await(time.Minute, "a few tries", func() bool { return w.hub.count("permission") > 3 })
			return id
		},
		"cloning": func(w *world) solve.ID {
			w.hub.refuse("clone", fault{passes: true, after: 4 * time.Minute})
			w.start("a")
			id := w.ask()
			w.await(time.Minute, "a try", func() bool { return w.hub.count("clone") > 0 })
			return id
		},
		"installing": func(w *world) solve.ID {
			w.cfg.Tests.Install = installCommand
			w.machine.on(installCommand, sleeps(time.Hour))
			w.start("a")
			id := w.ask()
			w.await(time.Minute, "the install", func() bool { return w.machine.count(installCommand) > 0 })
			return id
		},
		"testing the base": func(w *world) solve.ID {
			w.machine.on(testCommand, sleeps(time.Hour))
			w.start("a")
			id := w.ask()
			w.await(time.Minute, "the tests", func() bool { return w.machine.count(testCommand) > 0 })
			return id
		},
		"waiting to prepare": func(w *world) solve.ID {
			w.cfg.Preparing = 1
			w.machine.on(testCommand, sleeps(time.Minute))
			w.start("a")
			w.ask(with("idle"))
			w.await(time.Minute, "the tests", func() bool { return w.machine.count(testCommand) > 0 })
			id := w.ask()
			w.state(id, solve.StatePreparing)
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				id := reach(w)
				w.cancel(id)
				if n := w.models.count("good"); n > 0 || len(w.runs(id)) > 0 {
					w.Errorf("%d model calls", n)
				}
				for _, s := range w.live() {
					w.final(s.ID, solve.StateUnsolved)
				}
			})
		})
	}
}

func (w *world) live() []solve.Solve {
	list, err := w.store.LiveSolves(w.Context())
	w.must(err)
	return list
}

// TestCancelKeepsWhatIsThere: a cancelled run keeps its patch, one that ended
// before keeps its end, one that waits never begins.
func TestCancelKeepsWhatIsThere(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Limits.Parallel = 3
		w.endless("long", "good")
		w.cfg.Tests.Time = time.Hour
		w.start("a")
		id := w.ask(with("good", "long", "slow", "bad"))
		w.await(time.Minute, "a run in each stage", func() bool {
			r := w.runs(id)
			return len(r) == 4 && r[0].State == solve.RunPassed && r[1].Progress.Steps > 1 && r[2].State == solve.RunJudging && r[3].State == solve.RunFailed
		})
		w.cancel(id)
		runs := w.ends(id, solve.RunPassed, solve.RunCancelled, solve.RunCancelled, solve.RunFailed)
		for _, r := range runs {
			if r.Candidate == nil {
				w.Errorf("run %d has lost its patch: %s", r.N, r.Reason)
			}
		}
	})
}

// TestCancelQueuedRuns: they never start.
func TestCancelQueuedRuns(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.start("a")
		id := w.ask(with("long"), times(3), func(s *solve.Solve) { s.Request.Parallel = 1 })
		w.runState(id, solve.RunWorking)
		w.cancel(id)
		for _, r := range w.ends(id, slices.Repeat([]solve.RunState{solve.RunCancelled}, 3)...)[1:] {
			if r.Attempt > 0 {
				w.Errorf("run %d was started", r.N)
			}
		}
	})
}

// TestCancelWhileHarvesting: a sandbox that does not give its patch up is not waited for.
func TestCancelWhileHarvesting(t *testing.T) {
	for name, asked := range map[string]solve.RunState{"begun before": solve.RunHarvesting, "begun by the cancel": solve.RunWorking} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.machine.on("harvest", sleeps(time.Hour))
				w.endless("long", "good")
				w.start("a")
				model := "good"
				if asked == solve.RunWorking {
					model = "long"
				}
				id := w.ask(with(model))
				w.runState(id, asked)
				w.cancel(id)
				w.ends(id, solve.RunCancelled)
			})
		})
	}
}

// TestCancelDoesNotWaitForAStuckSandbox: the solve is over in time; the worker
// that comes back later finds its run ended and cleans up, the base too.
func TestCancelDoesNotWaitForAStuckSandbox(t *testing.T) {
	bubble(t, func(w *world) {
		w.machine.on("harvest", func(context.Context, fakesandbox.Call) (sandbox.Result, error) {
			return pause(context.Background(), 20*time.Second)
		})
		w.start("a")
		id := w.ask()
		w.runState(id, solve.RunHarvesting)
		w.cancel(id)
		w.ends(id, solve.RunCancelled)
	})
}

// TestCancelWhileReducing: nothing is published.
func TestCancelWhileReducing(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		p := w.process("a")
		// From the last verdict on no solve is claimed, until we say so. Claims
		// come one after the other: the first that is refused is after all others.
		var ended, free atomic.Bool
		refused := make(chan struct{})
		once := sync.OnceFunc(func() { close(refused) })
		p.store.on(func(op string, c solve.Change) error {
			switch {
			case op == "apply" && solve.NameOf(c.Event) == solve.EventPassed:
				ended.Store(true)
				<-refused
			case op == "claim" && ended.Load() && !free.Load():
				once()
				return solve.ErrNotFound
			}
			return nil
		}, nil)
		p.run()
		id := w.ask()
		w.state(id, solve.StateReducing)
		_, err := w.store.RequestCancel(w.Context(), id, "bob", "")
		w.must(err)
		free.Store(true)
		w.final(id, solve.StateCancelled)
		if n := writer.count(); n != 0 {
			w.Errorf("%d pull requests", n)
		}
	})
}

// TestCancelSurvivesACrash: the wish is stored; who takes over fulfils it.
func TestCancelSurvivesACrash(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.cfg.SweepEvery = time.Minute
		a := w.start("a")
		id := w.ask(with("long"), times(2))
		w.runState(id, solve.RunWorking)
		a.kill()
		_, err := w.store.RequestCancel(w.Context(), id, "bob", "")
		w.must(err)
		w.start("b")
		w.final(id, solve.StateCancelled)
		w.ends(id, solve.RunCancelled, solve.RunCancelled)
	})
}

// TestCancelAfterTheEnd changes nothing.
func TestCancelAfterTheEnd(t *testing.T) {
	bubble(t, func(w *world) {
		w.start("a")
		id := w.ask(with("bad"))
		w.final(id, solve.StateUnsolved)
		s, err := w.store.RequestCancel(w.Context(), id, "bob", "")
		w.must(err)
		if s.State != solve.StateUnsolved {
			w.Errorf("the solve is %s now", s.State)
		}
	})
}

// TestCancelReachesTheSecondAttempt: a run that goes back into the queue can be
// admitted again before its first worker has put itself away.
func TestCancelReachesTheSecondAttempt(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.driver.SetFault(failing("open", "-1-1"))
		p := w.process("a")
		p.store.on(nil, func(op string, c solve.Change) {
			if op == "apply" && solve.NameOf(c.Event) == solve.EventRequeued {
				w.await(time.Minute, "the second attempt", func() bool { return w.run1(c.Solve).State == solve.RunWorking })
			}
		})
		p.run()
		id := w.ask(with("long"))
		w.await(time.Minute, "some steps", func() bool {
			r := w.runs(id)
			return len(r) > 0 && r[0].Attempt == 2 && r[0].Progress.Steps > 2
		})
		w.cancel(id)
		if r := w.ends(id, solve.RunCancelled)[0]; r.Candidate == nil {
			w.Errorf("the patch was lost: %s", r.Reason)
		}
	})
}
