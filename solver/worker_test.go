package solver_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

func many(n int, s scripted.Step) []scripted.Step {
	out := make([]scripted.Step, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// broken is a step whose model call fails under the name.
func broken(status string) scripted.Step {
	return scripted.Step{Error: &scripted.Failure{Status: status, Text: "the provider says no"}}
}

// TestRunEnds: however an agent ends, what it changed is harvested and judged;
// only a run without a change takes its state from its end.
func TestRunEnds(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Limits.RunSteps, w.cfg.Limits.RunTime, w.cfg.Limits.RunUSD, w.cfg.Limits.RunOutput = 8, 10*time.Minute, 0.05, 1
		w.cfg.Limits.Parallel, w.cfg.Caps = 20, solve.Caps{Process: 20}
		talk := scripted.Step{Raw: &scripted.Raw{Content: "I would rather talk."}}
		cases := []struct {
			name  string
			last  []scripted.Step // after a change, and without any
			exit  string
			empty solve.RunState
			why   string
		}{
			{"submit", nil, agent.ExitSubmitted, solve.RunEmpty, "changed nothing"},
			{"steps", many(20, run("echo on")), agent.ExitLimits, solve.RunEmpty, "limit of 8 steps"},
			{"money", many(20, dear(30_000, "echo on")), agent.ExitLimits, solve.RunEmpty, "money limit"},
			{"output", many(20, run("noise 700000")), agent.ExitOutput, solve.RunEmpty, "printed more"},
			{"time", many(20, run("sleep 100s")), agent.ExitTime, solve.RunTimedOut, "time limit of the run"},
			{"format", many(20, talk), agent.ExitFormat, solve.RunEmpty, "outside the format"},
			{"model", many(1, broken("AuthenticationError")), "AuthenticationError", solve.RunError, "the provider says no"},
			{"machine", many(1, run("boom")), agent.ExitSandbox, solve.RunError, "the sandbox failed"},
		}
		var names []string
		for _, c := range cases {
			w.play(c.name, append(many(1, run("write good "+c.name)), c.last...)...)
			w.play(c.name+"-idle", c.last...)
			names = append(names, c.name, c.name+"-idle")
		}
		w.writer()
		w.start("a")
		id := w.ask(with(names...))
		w.final(id, solve.StateSolved)
		runs := w.runs(id)
		for i, c := range cases {
			if r := runs[2*i]; r.State != solve.RunPassed || r.Exit != c.exit || r.Candidate == nil {
				w.Errorf("%s: %s, %s: %s", c.name, r.State, r.Exit, r.Reason)
			}
			if r := runs[2*i+1]; r.State != c.empty || r.Exit != c.exit || r.Candidate != nil || !strings.Contains(r.Reason, c.why) {
				w.Errorf("%s without a change: %s, %s: %s", c.name, r.State, r.Exit, r.Reason)
			}
		}
		w.clean()
	})
}

// TestEditLimit: max edits ends the run politely, with what it has.
func TestEditLimit(t *testing.T) {
	bubble(t, func(w *world) {
		w.play("busy", run("write good 1"), run("echo looking"), run("write good 2"), run("write good 3"))
		w.writer()
		w.start("a")
		id := w.ask(with("busy"), func(s *solve.Solve) { s.Request.Edits = []int{2} })
		w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if r.Exit != agent.ExitEdits || r.Progress.Edits != 2 || r.Progress.Steps != 3 {
			w.Errorf("%s after %+v", r.Exit, r.Progress)
		}
	})
}

// TestSummaryIsKept: what the agent says behind the marker is kept with its run.
func TestSummaryIsKept(t *testing.T) {
	bubble(t, func(w *world) {
		w.play("tells", run("write good"), run("echo "+agent.SubmitMarker+"\nThe sum began at 1.\nIt begins at 0 now."))
		w.writer()
		w.start("a")
		id := w.ask(with("tells"))
		w.final(id, solve.StateSolved)
		if got := w.ends(id, solve.RunPassed)[0].Summary; got != "The sum began at 1. It begins at 0 now." {
			w.Errorf("summary %q", got)
		}
	})
}

// TestCommandTime: one command that hangs costs its time, not the run.
func TestCommandTime(t *testing.T) {
	bubble(t, func(w *world) {
		w.play("hangs", run("sleep 24h"), run("write good"))
		w.writer()
		w.start("a")
		id := w.ask(with("hangs"))
		w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if d := r.AgentTime; d < 2*time.Minute || d > 3*time.Minute {
			w.Errorf("the agent worked %s, want the two minutes of one command", d)
		}
	})
}

// TestVerdicts: the outcome of the tests is the run's end.
func TestVerdicts(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Tests.Time = 30 * time.Second
		w.writer()
		w.start("a")
		id := w.ask(with("good", "bad", "norun", "slow", "disk"))
		w.final(id, solve.StateSolved)
		runs := w.ends(id, solve.RunPassed, solve.RunFailed, solve.RunNoVerdict, solve.RunNoVerdict, solve.RunFailed)
		for i, word := range []string{"the tests", "does not apply", "could not be run", "did not end within 30s", "more disk"} {
			if r := runs[i]; r.Verdict == nil || !strings.Contains(r.Reason+r.Verdict.Reason, word) {
				w.Errorf("run %d: %q, want %q", r.N, r.Reason, word)
			}
		}
	})
}

// TestJudgedInACleanBox: the judge's sandbox is not the agent's, and only the patch goes in.
func TestJudgedInACleanBox(t *testing.T) {
	bubble(t, func(w *world) {
		id := w.ask()
		w.machine.on("apply", nil)
		w.writer()
		w.start("a")
		w.final(id, solve.StateSolved)
		work, judged := w.driver.specs("work"), w.driver.specs("judge")
		if len(work) != 1 || len(judged) != 1 || work[0].Name == judged[0].Name || judged[0].From != work[0].From {
			w.Errorf("work in %+v, judged in %+v", work, judged)
		}
		if n := w.machine.count("apply"); n != 1 {
			w.Errorf("the patch was applied %d times", n)
		}
		data, err := w.store.Artifact(w.Context(), id, w.run1(id).Candidate.Artifact)
		w.must(err)
		if string(data) != patch("good") {
			w.Errorf("stored patch:\n%s", data)
		}
	})
}

// TestRefusedPatch: a patch that may not be published is never run.
func TestRefusedPatch(t *testing.T) {
	bubble(t, func(w *world) {
		text := "diff --git a/.git/hooks/x b/.git/hooks/x\nnew file mode 100755\n--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+evil\n"
		w.machine.on("harvest", exit(0, text))
		w.start("a")
		id := w.ask()
		w.final(id, solve.StateUnsolved)
		r := w.ends(id, solve.RunFailed)[0]
		if r.Candidate.Refused == "" || !strings.HasPrefix(r.Reason, "refused: ") || len(w.driver.specs("judge")) > 0 {
			w.Errorf("%q, judged in %v", r.Reason, w.driver.specs("judge"))
		}
	})
}

// TestFailuresOfOurs: what we could not do is an error with a public reason, and nothing stays open.
func TestFailuresOfOurs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world  func(w *world)
		reason string
	}{
		"model not opened": {func(w *world) { w.models.opens["good"] = errors.New("no key any more") }, "no key any more"},
		"tree not read":    {func(w *world) { w.machine.on("harvest", exit(1, "")) }, "collect the patch"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				c.world(w)
				w.start("a")
				id := w.ask(with("good"))
				w.final(id, solve.StateUnsolved)
				if r := w.ends(id, solve.RunError)[0]; !strings.Contains(r.Reason, c.reason) {
					w.Errorf("reason %q, want %q", r.Reason, c.reason)
				}
			})
		})
	}
}

// TestPatchTooLarge: that the agent made too much is its failure, and says which setting bounds it.
func TestPatchTooLarge(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Patch.MaxKiB = 1
		w.play("large", run("write good "+strings.Repeat("x", 2000)))
		w.start("a")
		id := w.ask(with("large"))
		w.final(id, solve.StateUnsolved)
		r := w.ends(id, solve.RunFailed)[0]
		if want := "changes are too large: the patch has more than 1 KiB (solver.patch.max_kib)"; r.Candidate.Refused != want || !strings.Contains(r.Reason, want) {
			w.Errorf("refused %q, reason %q", r.Candidate.Refused, r.Reason)
		}
		if n := len(w.driver.specs("judge")); n != 0 {
			w.Errorf("%d sandboxes to judge what is refused", n)
		}
	})
}

// TestPatchNotReadable: what no git reads is refused, and tested nowhere.
func TestPatchNotReadable(t *testing.T) {
	bubble(t, func(w *world) {
		w.machine.on("harvest", exit(0, "nonsense\n"))
		w.start("a")
		id := w.ask(with("good"))
		w.final(id, solve.StateUnsolved)
		r := w.ends(id, solve.RunFailed)[0]
		if !strings.Contains(r.Candidate.Refused, "patch does not apply") || len(w.driver.specs("judge")) > 0 {
			w.Errorf("refused %q, judged in %v", r.Candidate.Refused, w.driver.specs("judge"))
		}
	})
}

// TestOpenIsTriedAgain: a sandbox that cannot be opened is another attempt, so often and no more.
func TestOpenIsTriedAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.driver.SetFault(failing(fakesandbox.OpOpen, "-1-1"))
		w.writer()
		w.start("a")
		id := w.ask()
		w.final(id, solve.StateSolved)
		if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 2 {
			w.Errorf("attempt %d, want 2", r.Attempt)
		}
		w.clean()
		w.driver.SetFault(func(op fakesandbox.Op, name string) error {
			return errors.Join(failing(fakesandbox.OpOpen, "-1-1")(op, name), failing(fakesandbox.OpOpen, "-1-2")(op, name))
		})
		id = w.ask()
		w.final(id, solve.StateUnsolved)
		if r := w.ends(id, solve.RunError)[0]; r.Attempt != 2 || !strings.Contains(r.Reason, "given up after 2 attempts") {
			w.Errorf("attempt %d: %s", r.Attempt, r.Reason)
		}
	})
}

// TestJudgeIsTriedAgain: a paid candidate is not lost because one sandbox failed.
func TestJudgeIsTriedAgain(t *testing.T) {
	for _, op := range []fakesandbox.Op{fakesandbox.OpOpen, fakesandbox.OpExec} {
		t.Run(string(op), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.driver.SetFault(firstOnly(failing(op, "-judge")))
				w.writer()
				w.start("a")
				id := w.ask()
				w.final(id, solve.StateSolved)
				if n := w.models.count("good"); n != 2 {
					w.Errorf("%d model calls, want 2", n)
				}
				w.clean()
				w.driver.SetFault(failing(op, "-judge"))
				id = w.ask()
				w.final(id, solve.StateUnsolved)
				if r := w.ends(id, solve.RunError)[0]; r.Candidate == nil || !strings.Contains(r.Reason, "judge") {
					w.Errorf("%s, candidate %v", r.Reason, r.Candidate)
				}
			})
		})
	}
}

// TestSandboxesLiveLongEnough: the time that a provider enforces is never shorter than ours.
func TestSandboxesLiveLongEnough(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]time.Duration{"limited": time.Minute, "unlimited": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Limits.RunTime, w.cfg.Limits.SolveTime = limit, limit
				w.writer()
				w.start("a")
				w.final(w.ask(), solve.StateSolved)
				for _, phase := range []string{"prepare", "work", "judge"} {
					for _, spec := range w.driver.specs(phase) {
						if (spec.TTL > 0) != (limit > 0) {
							w.Errorf("%s lives %s, with a limit of %s", spec.Name, spec.TTL, limit)
						}
					}
				}
			})
		})
	}
}

// TestStoreFailsForAMoment: a disk that is full, or cannot be read, for some
// seconds from any moment on costs no run and no solve.
func TestStoreFailsForAMoment(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for _, at := range []string{
		string(solve.EventClaimed), string(solve.EventBaseReady), string(solve.EventStarted), string(solve.EventAgentEnded),
		string(solve.EventHarvested), string(solve.EventPassed), string(solve.EventChampion), string(solve.EventPublished),
		"solve", "runs", "effect", "step", "artifact", "read artifact",
	} {
		t.Run(at, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.writer()
				p := w.process("a")
				var mu sync.Mutex
				var until time.Time
				p.store.on(func(op string, c solve.Change) error {
					mu.Lock()
					defer mu.Unlock()
					if (op == at || op == "apply" && string(solve.NameOf(c.Event)) == at) && until.IsZero() {
						until = time.Now().Add(5 * time.Second)
					}
					if op != "heartbeat" && time.Now().Before(until) {
						return errDisk
					}
					return nil
				}, nil)
				p.run()
				id := w.ask()
				w.final(id, solve.StateSolved)
				if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 {
					w.Errorf("attempt %d", r.Attempt)
				}
				mu.Lock()
				defer mu.Unlock()
				if until.IsZero() {
					w.Error("the store never failed")
				}
			})
		})
	}
}

// TestTranscriptIsWaitedFor: a run that is taken over goes on once its transcript can be read.
func TestTranscriptIsWaitedFor(t *testing.T) {
	bubble(t, func(w *world) {
		w.play("long", many(8, run("sleep 10s"))...)
		w.writer()
		p := w.start("a")
		id := w.ask(with("long"))
		w.await(time.Hour, "two steps", func() bool { return len(w.runs(id)) > 0 && w.run1(id).Progress.Steps > 1 })
		p.kill()
		next := w.process("b")
		var mu sync.Mutex
		fails := 4
		next.store.on(func(op string, _ solve.Change) error {
			mu.Lock()
			defer mu.Unlock()
			if op == "transcript" && fails > 0 {
				fails--
				return errDisk
			}
			return nil
		}, nil)
		next.run()
		w.final(id, solve.StateUnsolved)
		if r := w.ends(id, solve.RunEmpty)[0]; r.Attempt != 1 || fails != 0 {
			w.Errorf("attempt %d, %d reads did not fail", r.Attempt, fails)
		}
	})
}
