package solver_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/test/require"
)

// stop asks for a stop rule.
func stop(rule solve.StopRule) func(*solve.Solve) {
	return func(s *solve.Solve) { s.Request.Stop = rule }
}

// lately makes a model that answers after a while.
func (w *world) lately(name string, after time.Duration, answer string) {
	w.play(name, run("sleep "+after.String()), run("write "+answer))
}

// spared fails unless the stop rule ended the run, for a reason that says this.
func (w *world) spared(r solve.Run, why string) {
	w.Helper()
	if r.State != solve.RunCancelled || !r.NotNeeded || !strings.HasPrefix(r.Reason, "not needed: "+why) {
		w.Errorf("run %d is %s, not needed %v: %q, want %q", r.N, r.State, r.NotNeeded, r.Reason, why)
	}
}

// killedAfter ends the process as soon as an event of a run, or of any if it is 0, is stored.
func (w *world) killedAfter(p *process, event solve.EventName, run int) (done chan struct{}) {
	stored := make(chan struct{})
	done = make(chan struct{})
	die := sync.OnceFunc(func() {
		p.store.kill() // nothing more is stored by this one
		close(stored)
	})
	p.store.on(nil, func(op string, c solve.Change) {
		if op == "apply" && solve.NameOf(c.Event) == event && (run == 0 || c.Run == run) {
			die()
		}
	})
	go func() {
		defer close(done)
		<-stored
		p.kill()
	}()
	return done
}

// TestFirstGreen: the first candidate that passes ends what waits, in the same moment, and
// what is at work, soon after; that keeps its patch, and is not judged.
func TestFirstGreen(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]solve.EventName{
		"in one process": "", "over a crash": solve.EventPassed, "over a crash while it is stopped": solve.EventAgentEnded,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Limits.Parallel = 3
				w.endless("long", "good")
				w.lately("late", 20*time.Second, "good")
				w.lately("soon", 5*time.Second, "good")
				w.writer()
				p := w.process("a")
				var killed chan struct{}
				if crash != "" {
					run := map[solve.EventName]int{solve.EventPassed: 4, solve.EventAgentEnded: 1}[crash]
					killed = w.killedAfter(p, crash, run)
				}
				p.run()
				id := w.ask(with("long", "bad", "late", "soon", "idle"), stop(solve.StopFirstGreen))
				if crash == solve.EventPassed {
					<-killed
					w.spared(w.runs(id)[4], "run 4 is proven") // in the same transaction
				}
				if crash != "" {
					<-killed
					w.start("b")
				}
				s := w.final(id, solve.StateSolved)
				runs := w.ends(id, solve.RunCancelled, solve.RunFailed, solve.RunCancelled, solve.RunPassed, solve.RunCancelled)
				for _, i := range []int{0, 2, 4} {
					w.spared(runs[i], "run 4 is proven")
				}
				if long := runs[0]; long.Candidate == nil || long.Verdict != nil || !strings.Contains(long.Reason, "is kept") {
					w.Errorf("the run at work: %+v", long)
				}
				if idle := runs[4]; idle.Attempt != 0 || idle.Sandbox != "" || w.models.count("idle") != 0 {
					w.Errorf("the run that waited: %+v", idle)
				}
				if s.Decision.Champion != 4 || !slices.Contains(s.Plan.Notes, "it ends with the first experiment that is proven or supported (stop=first_green)") {
					w.Errorf("champion %d, notes %q", s.Decision.Champion, s.Plan.Notes)
				}
				if late := runs[3].Ended; crash == "" && runs[0].Ended.Sub(late) > 3*time.Second {
					w.Errorf("the run at work ended %s after it was not needed", runs[0].Ended.Sub(late))
				}
			})
		})
	}
}

// TestFirstGreenLetsAJudgeFinish where the candidate can still win, and stops the others.
func TestFirstGreenLetsAJudgeFinish(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Order = []string{"model"}
		w.play("slow2", run("write slow"))
		w.lately("late", 5*time.Second, "good")
		w.cfg.Defaults.Models = []string{"slow", "late", "slow2"} // their order
		w.writer()
		w.start("a")
		id := w.ask(with("slow", "late", "slow2"), stop(solve.StopFirstGreen))
		s := w.final(id, solve.StateSolved)
		runs := w.ends(id, solve.RunPassed, solve.RunPassed, solve.RunCancelled)
		w.spared(runs[2], "run 2 stays better")
		if s.Decision.Champion != 1 || runs[2].Candidate == nil {
			w.Errorf("champion %d; %+v", s.Decision.Champion, runs[2])
		}
	})
}

// threeWaves: nothing of the first passes, one of the second does.
func (w *world) threeWaves() {
	w.cfg.Stop, w.cfg.Limits.Parallel = solve.StopWaves, 1
	w.cfg.Waves = []solver.Matrix{{Models: []string{"bad", "idle"}}, {Models: []string{"norun", "bad", "good"}}, {Models: []string{"slow"}}}
}

// TestWaves: each begins when the last one has brought nothing, and the one that brings
// a candidate is the last.
func TestWaves(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]solve.EventName{
		"in one process": "", "over a crash in the first wave": solve.EventEmpty, "over a crash in the second": solve.EventPassed,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.threeWaves()
				w.writer()
				p := w.process("a")
				var killed chan struct{}
				if crash != "" {
					killed = w.killedAfter(p, crash, 0)
				}
				p.run()
				id := w.ask()
				if crash != "" {
					<-killed
					w.start("b")
				}
				s := w.final(id, solve.StateSolved)
				runs := w.ends(id, solve.RunFailed, solve.RunEmpty, solve.RunNoVerdict, solve.RunPassed, solve.RunCancelled)
				w.spared(runs[4], "run 4 is proven after wave 2")
				if w.models.count("slow") != 0 || runs[4].Attempt != 0 || s.Wave != 2 {
					w.Errorf("wave %d; %+v", s.Wave, runs)
				}
				w.oneByOne(id, runs)
				if !strings.Contains(strings.Join(s.Plan.Notes, "; "), "3 waves, of 2, 2 and 1 experiments") {
					w.Errorf("notes %q", s.Plan.Notes)
				}
			})
		})
	}
}

// oneByOne fails if a run was admitted before its wave began, or a wave began early or twice.
func (w *world) oneByOne(id solve.ID, runs []solve.Run) {
	w.Helper()
	events, err := w.store.Events(w.Context(), id, 0)
	w.must(err)
	wave, open := 1, map[int]int{}
	for _, r := range runs {
		open[r.Experiment.Wave]++
	}
	for _, e := range events {
		switch {
		case e.Run == 0 && e.Event == solve.EventWave:
			if open[wave] > 0 {
				w.Errorf("wave %d ended with %d runs open", wave, open[wave])
			}
			wave++
		case e.Run == 0:
		case e.Event == solve.EventAdmitted:
			if of := runs[e.Run-1].Experiment.Wave; of != wave {
				w.Errorf("run %d of wave %d was admitted in wave %d", e.Run, of, wave)
			}
		case solve.RunState(e.To).Final():
			open[runs[e.Run-1].Experiment.Wave]--
		}
	}
}

// TestWavesInVain: all of them are made, and none is there for nothing.
func TestWavesInVain(t *testing.T) {
	bubble(t, func(w *world) {
		w.start("a")
		id := w.ask(with("bad", "idle", "norun"), stop(solve.StopWaves))
		s := w.final(id, solve.StateUnsolved)
		w.oneByOne(id, w.ends(id, solve.RunFailed, solve.RunEmpty, solve.RunNoVerdict))
		if s.Wave != 3 {
			w.Errorf("wave %d", s.Wave)
		}
	})
}

// TestHopelessRunsAreStopped: those at work that cannot win any more, by the solve's own
// order, and those that wait.
func TestHopelessRunsAreStopped(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Order = []string{"temperature", "latency"}
		w.cfg.Waves = []solver.Matrix{{Models: []string{"late", "long"}, Temps: []float64{0.2, 0.6}}}
		w.lately("late", 20*time.Second, "good")
		w.endless("long", "good")
		w.cfg.Limits.Parallel = 3
		w.writer()
		w.start("a")
		id := w.ask(stop(solve.StopWaves))
		s := w.final(id, solve.StateSolved)
		runs := w.runs(id)                      // the second ends when the first does: it passes, or comes too late
		w.spared(runs[2], "run 1 stays better") // as cold, and slower by now
		w.spared(runs[3], "run 1 stays better") // it would be warmer
		if runs[2].AgentTime > runs[0].AgentTime+5*time.Second || runs[2].Attempt != 1 || runs[3].AgentTime > 5*time.Second || s.Decision.Champion != 1 {
			w.Errorf("champion %d; %+v", s.Decision.Champion, runs)
		}
	})
}

// TestAllRunsEverything, also what cannot win.
func TestAllRunsEverything(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Order = []string{"latency"}
		w.lately("late", time.Minute, "good")
		w.writer()
		w.start("a")
		id := w.ask(with("good", "late"), stop(solve.StopAll))
		w.final(id, solve.StateSolved)
		w.ends(id, solve.RunPassed, solve.RunPassed)
	})
}

// TestWavesOutOfTime: the deadline ends the wave at work; later ones time out.
func TestWavesOutOfTime(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.endless("wrong", "bad")
		w.start("a")
		id := w.ask(with("wrong", "good", "idle"), stop(solve.StopWaves), lasting(5*time.Minute))
		s := w.final(id, solve.StateExpired)
		w.ends(id, solve.RunFailed, solve.RunTimedOut, solve.RunTimedOut)
		if s.Wave != 1 || s.Ended.Sub(s.Deadline) > 3*time.Second {
			w.Errorf("wave %d, %s after the deadline", s.Wave, s.Ended.Sub(s.Deadline))
		}
	})
}

// TestCancelledWaves: a person's cancel ends all of them.
func TestCancelledWaves(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.start("a")
		id := w.ask(with("long", "good"), stop(solve.StopWaves))
		w.runState(id, solve.RunWorking)
		w.cancel(id)
		for _, r := range w.ends(id, solve.RunCancelled, solve.RunCancelled) {
			if r.NotNeeded {
				w.Errorf("run %d: %s", r.N, r.Reason)
			}
		}
	})
}

// TestRetryOfWhatWasNotNeeded: it is run now, until one of those passes.
func TestRetryOfWhatWasNotNeeded(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.play("short", run("write good"))
		w.writer()
		w.start("a")
		s := w.final(w.ask(with("good", "bad", "short", "idle"), stop(solve.StopFirstGreen), func(s *solve.Solve) { s.Request.Parallel = 1 }), solve.StateSolved)
		w.ends(s.ID, solve.RunPassed, solve.RunCancelled, solve.RunCancelled, solve.RunCancelled)
		w.hub.set(func(h *hub) {
			h.pull = solve.PullNow{Open: true, Branch: s.Branch, SHA: s.Pull.Commit, Base: "main"}
		})
		if reply, _ := w.asked(solve.CommandRetry, s.Issue.Number, nil); reply != "" {
			w.Errorf("the answer is %q", reply)
		}
		now, runs := w.next(s, solve.StateSolved)
		w.ends(now.ID, solve.RunPassed, solve.RunFailed, solve.RunPassed, solve.RunCancelled)
		w.spared(runs[3], "run 3 is proven")
		if runs[0].From == nil || runs[2].From != nil || now.Plan.Stop != solve.StopFirstGreen {
			w.Errorf("%+v", runs)
		}
	})
}

// TestRepeatsInEveryWay: as a word of the command's request, in a profile, in the
// repository's file, and in a wave.
func TestRepeatsInEveryWay(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(w *world, s *solve.Solve){
		"request": func(_ *world, s *solve.Solve) { s.Request.Repeat = 3 },
		"profile": func(w *world, s *solve.Solve) {
			w.hub.config, s.Request.Profile = "profiles: {thrice: {repeat: 3}}", "thrice"
		},
		"wave": func(w *world, s *solve.Solve) {
			w.cfg.Waves, s.Request.Stop = []solver.Matrix{{Repeat: 3}}, solve.StopWaves
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.play("pair", scripted.Step{Run: new("write bad")})
				w.cfg.Defaults.Models = []string{"pair"}
				var req solve.Solve
				set(w, &req)
				w.start("a")
				id := w.ask(func(s *solve.Solve) { s.Request = req.Request })
				w.final(id, solve.StateUnsolved)
				for i, r := range w.ends(id, solve.RunFailed, solve.RunFailed, solve.RunFailed) {
					if r.Experiment.Repeat != i+1 {
						w.Errorf("run %d is repeat %d", r.N, r.Experiment.Repeat)
					}
				}
			})
		})
	}
}
