package solver_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// endless makes a model that writes an answer and then works for ever.
func (w *world) endless(name, answer string) {
	w.play(name, slices.Concat(many(1, run("write "+answer)), many(500, run("sleep 30s")))...)
}

func lasting(d time.Duration) func(*solve.Solve) {
	return func(s *solve.Solve) { s.Request.TimeBudget = d }
}

// TestDeadlineCutsAndJudges: at the solve's deadline the runs at work are cut
// and judged all the same, those that wait time out, and what passes wins.
func TestDeadlineCutsAndJudges(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Limits.Parallel = 2
		w.endless("right", "slow") // its tests take a minute more
		w.endless("wrong", "bad")
		w.writer()
		w.start("a")
		id := w.ask(with("right", "wrong", "good", "idle"), lasting(10*time.Minute))
		s := w.final(id, solve.StateSolved)
		runs := w.ends(id, solve.RunPassed, solve.RunFailed, solve.RunTimedOut, solve.RunTimedOut)
		if s.Decision.Champion != 1 || runs[0].Exit != agent.ExitTime || runs[0].AgentTime > 10*time.Minute+time.Second {
			w.Errorf("champion %d, %s after %s", s.Decision.Champion, runs[0].Exit, runs[0].AgentTime)
		}
		if d := s.Ended.Sub(s.Deadline); d < time.Minute || d > time.Minute+3*time.Second {
			w.Errorf("ended %s after the deadline, want the minute of the tests", d)
		}
		if !strings.Contains(runs[3].Reason, "before it started") || runs[3].Attempt != 0 {
			w.Errorf("run 4: attempt %d, %s", runs[3].Attempt, runs[3].Reason)
		}
	})
}

// TestExpired: without a candidate that passes, the end of the time is the reason.
func TestExpired(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Limits.Parallel = 2
		w.endless("wrong", "bad")
		w.play("asleep", many(100, run("sleep 30s"))...)
		w.start("a")
		id := w.ask(with("wrong", "asleep", "good"), lasting(5*time.Minute))
		s := w.final(id, solve.StateExpired)
		w.ends(id, solve.RunFailed, solve.RunTimedOut, solve.RunTimedOut)
		if !strings.Contains(s.Reason, "time budget of 5m0s") || s.Ended.Sub(s.Deadline) > 3*time.Second {
			w.Errorf("%s after the deadline: %s", s.Ended.Sub(s.Deadline), s.Reason)
		}
	})
}

// TestDeadlineOfAQueue: a solve whose runs never got room ends at its deadline, too.
func TestDeadlineOfAQueue(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Caps = solve.Caps{Process: 1}
		w.endless("long", "good")
		w.writer()
		w.start("a")
		first := w.ask(with("long"))
		w.runState(first, solve.RunWorking)
		id := w.ask(times(2), lasting(5*time.Minute))
		s := w.final(id, solve.StateExpired)
		w.ends(id, solve.RunTimedOut, solve.RunTimedOut)
		if d := s.Ended.Sub(s.Deadline); d > 3*time.Second {
			w.Errorf("ended %s after the deadline", d)
		}
		w.final(first, solve.StateSolved)
	})
}

// TestDeadlineWhilePreparing ends the install.
func TestDeadlineWhilePreparing(t *testing.T) {
	for _, word := range []string{installCommand, testCommand} {
		t.Run(word, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install, w.cfg.Tests.InstallTime, w.cfg.Tests.Time = installCommand, time.Hour, time.Hour
				w.machine.on(word, sleeps(24*time.Hour))
				w.start("a")
				s := w.final(w.ask(lasting(3*time.Minute)), solve.StateExpired)
				if d := s.Ended.Sub(s.Deadline); d > time.Second || !strings.Contains(s.Reason, "3m0s") {
					w.Errorf("ended %s after the deadline: %s", d, s.Reason)
				}
			})
		})
	}
}

// TestDeadlineSurvivesARestart: the deadline is the solve's, not the process's.
func TestDeadlineSurvivesARestart(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.endless("right", "good")
		w.writer()
		a := w.start("a")
		id := w.ask(with("right", "idle"), lasting(10*time.Minute), func(s *solve.Solve) { s.Request.Parallel = 1 })
		w.await(time.Hour, "a step", func() bool { r := w.runs(id); return len(r) > 0 && r[0].Progress.Steps > 1 })
		a.kill()
		w.await(time.Hour, "the deadline", func() bool { return time.Now().After(w.solve(id).Deadline) })
		w.start("b")
		s := w.final(id, solve.StateSolved)
		w.ends(id, solve.RunPassed, solve.RunTimedOut)
		if d := s.Ended.Sub(s.Deadline); d > 5*time.Second {
			w.Errorf("ended %s after the deadline", d)
		}
	})
}

// TestRunTimeIsTheRuns: one run that is too slow ends, the solve goes on, and a
// restart does not begin its time anew.
func TestRunTimeIsTheRuns(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Limits.RunTime = 10 * time.Minute
		w.endless("right", "good")
		w.writer()
		a := w.start("a")
		id := w.ask(with("right"))
		w.await(time.Hour, "some steps", func() bool { r := w.runs(id); return len(r) > 0 && r[0].Progress.Steps >= 13 })
		a.kill()
		w.start("b")
		w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if r.Exit != agent.ExitTime || r.AgentTime > 10*time.Minute+time.Second || r.AgentTime < 9*time.Minute {
			w.Errorf("%s after %s", r.Exit, r.AgentTime)
		}
	})
}
