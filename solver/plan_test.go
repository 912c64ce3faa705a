package solver_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// TestRefusals: what the asker can mend is said before anything is started.
func TestRefusals(t *testing.T) {
	t.Parallel()
	branch := func(name string) func(*solve.Solve) {
		return func(s *solve.Solve) { s.Request.Base = name }
	}
	for name, c := range map[string]struct {
		world  func(w *world)
		ask    func(*solve.Solve)
		reason string
	}{
		"no rights":         {func(w *world) { w.hub.role, w.hub.write = "read", false }, times(1), "ann has the permission"},
		"closed issue":      {func(w *world) { w.hub.open = false }, times(1), "Issue #1 is not open"},
		"no such issue":     {func(w *world) { w.hub.always["issue"] = solve.ErrNotFound }, times(1), "Issue #1 is not there any more"},
		"unknown branch":    {nil, branch("nowhere"), `"nowhere" does not exist in octo/project`},
		"unknown model":     {nil, with("unheard-of"), "unheard-of"},
		"model without key": {func(w *world) { w.models.unready["good"] = errors.New("set OPENAI_API_KEY") }, times(1), "set OPENAI_API_KEY"},
		"unknown agent":     {nil, func(s *solve.Solve) { s.Request.Agents = []string{"robot"} }, "robot"},
		"unknown strategy":  {nil, func(s *solve.Solve) { s.Request.Strategies = []string{"luck"} }, "luck"},
		"too large":         {nil, times(25), "more than the limit of 24"},
		"late assignment that was taken back": {nil, func(s *solve.Solve) {
			s.Trigger = solve.Trigger{Kind: solve.TriggerAssigned, Key: s.Trigger.Key, Actor: s.Trigger.Actor, At: s.Trigger.At, Assignee: "yudai[bot]", Late: true}
		}, "The assignment was taken back."},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				if c.world != nil {
					c.world(w)
				}
				w.start("a")
				s := w.final(w.ask(c.ask), solve.StateFailed)
				if !s.Refused || !strings.Contains(s.Reason, c.reason) {
					w.Errorf("refused %t: %q, want the reason %q", s.Refused, s.Reason, c.reason)
				}
				if len(w.runs(s.ID)) > 0 || w.driver.Count(fakesandbox.OpOpen) > 0 || w.hub.count("clone") > 0 {
					w.Error("something was started")
				}
			})
		})
	}
}

// TestOperatorNeedsNoRights: the API's token is the operator's own.
func TestOperatorNeedsNoRights(t *testing.T) {
	bubble(t, func(w *world) {
		w.hub.write = false
		w.writer()
		w.start("a")
		id := w.ask(func(s *solve.Solve) { s.Trigger.Kind = solve.TriggerAPI })
		w.final(id, solve.StateSolved)
		if n := w.hub.count("permission"); n != 0 {
			w.Errorf("rights were looked up %d times", n)
		}
	})
}

// TestPassingFaultsAreWaitedFor: GitHub is asked again, and not before it says.
func TestPassingFaultsAreWaitedFor(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		soon, later := fault{passes: true}, fault{passes: true, after: 2 * time.Hour}
		for _, method := range []string{"permission", "issue", "branch", "clone"} {
			w.hub.fail(method, soon, soon)
		}
		w.hub.fail("branch", later)
		w.writer()
		w.start("a")
		began := time.Now()
		s := w.final(w.ask(), solve.StateSolved)
		if wait := s.Started.Sub(began); wait < 2*time.Hour || wait > 2*time.Hour+5*time.Minute {
			w.Errorf("started after %s, want the 2h that GitHub asked for and little more", wait)
		}
	})
}

func TestLastingFaultsEndTheSolve(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"permanent": fault{}, "too far away": fault{passes: true, after: 25 * time.Hour}} {
		for _, method := range []string{"permission", "issue", "branch", "clone"} {
			t.Run(name+" "+method, func(t *testing.T) {
				bubble(t, func(w *world) {
					w.cfg.Limits.SolveTime = 0
					w.hub.refuse(method, err)
					w.start("a")
					s := w.final(w.ask(), solve.StateFailed)
					if d := s.Ended.Sub(s.Created); d > time.Second {
						w.Errorf("ended after %s", d)
					}
					if n := w.hub.count(method); n != 1 {
						w.Errorf("asked %d times", n)
					}
					if s.Refused || !strings.Contains(s.Reason, "GitHub does not answer") {
						w.Errorf("refused %t, reason %q", s.Refused, s.Reason)
					}
				})
			})
		}
	}
}

// TestHolds: what may pass is waited for a day, or to the deadline; what is said
// to last, or is this machine's after some tries, ends the solve.
func TestHolds(t *testing.T) {
	t.Parallel()
	preparing, queued := solve.Solve{State: solve.StatePreparing}, solve.Solve{State: solve.StateQueued}
	for name, c := range map[string]struct {
		s           solve.Solve
		err         error
		outside     bool
		budget      time.Duration
		least, most time.Duration
		times       int
	}{
		"an outage":              {queued, fault{passes: true}, true, 0, 23 * time.Hour, 24 * time.Hour, 1444},
		"a limit of an hour":     {queued, fault{passes: true, after: time.Hour}, true, 0, 23 * time.Hour, 24 * time.Hour, 24},
		"up to the deadline":     {preparing, fault{passes: true, after: time.Hour}, true, 90 * time.Minute, 90 * time.Minute, 90 * time.Minute, 2},
		"for good":               {preparing, fault{}, true, 0, 0, 0, 0},
		"nobody knows":           {preparing, errors.New("odd"), true, 0, 0, 0, 0},
		"this machine":           {preparing, errors.New("odd"), false, 0, 3 * time.Second, 3 * time.Second, 2},
		"this machine's timeout": {preparing, context.DeadlineExceeded, false, 0, 3 * time.Second, 3 * time.Second, 2},
		"a refused clone":        {preparing, git.ErrAuth, false, 0, 2 * time.Minute, 3 * time.Minute, 7},
		"not while planning":     {queued, errors.New("odd"), false, 0, 0, 0, 0},
		"not found":              {preparing, solve.ErrNotFound, false, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.budget > 0 {
					c.s.Deadline = time.Now().Add(c.budget)
				}
				list := solver.Holds(t.Context(), c.s, c.err, c.outside, 3)
				var sum time.Duration
				for _, d := range list {
					sum += d
				}
				if sum < c.least || sum > c.most || len(list) != c.times {
					t.Errorf("waited %d times, %s; want %d times, %s to %s", len(list), sum, c.times, c.least, c.most)
				}
			})
		})
	}
}

// TestDeadlineNamesTheHindrance: a solve that waits for GitHub until its time is
// over says for what.
func TestDeadlineNamesTheHindrance(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.hub.refuse("clone", fault{passes: true, after: 40 * time.Minute})
		w.start("a")
		s := w.final(w.ask(lasting(time.Hour)), solve.StateExpired)
		if d := s.Ended.Sub(s.Started); d < time.Hour || d > time.Hour+2*time.Second || !strings.Contains(s.Reason, "GitHub does not answer") {
			w.Errorf("expired after %s: %s", d, s.Reason)
		}
	})
}

// TestWaitingSolvesStandInNobodysWay: one that waits takes no place among the
// solves at work or the bases being prepared, can be cancelled, and survives a crash.
func TestWaitingSolvesStandInNobodysWay(t *testing.T) {
	t.Parallel()
	for method, fails := range map[string]string{"permission": "permission of eve", "clone": "clone"} {
		t.Run(method, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.MaxSolves, w.cfg.Preparing = 1, 1
				w.writer()
				w.hub.refuse(fails, fault{passes: true, after: 30 * time.Minute})
				p := w.process("a").run()
				byEve := func(s *solve.Solve) { s.Trigger.Actor = "eve" }
				waiting, cancelled := w.ask(byEve), w.ask(byEve, in(2, "other"))
				w.await(time.Minute, "both to wait", func() bool {
					return w.solve(waiting).Lease.Node == "a" && w.solve(cancelled).Lease.Node == "a" && w.hub.count(method) >= 2
				})
				if method == "clone" {
					w.hub.refuse(fails, nil)
				}
				began := time.Now()
				w.final(w.ask(in(3, "third")), solve.StateSolved)
				if d := time.Since(began); d > 5*time.Minute {
					w.Errorf("the third solve took %s", d)
				}
				w.cancel(cancelled)
				p.kill()
				w.hub.refuse(fails, nil)
				w.start("b") // it asks GitHub anew, and is answered
				w.final(waiting, solve.StateSolved)
			})
		})
	}
}

// TestPlanIsFixed: the matrix, the limits, the base and the deadline are stored when the solve is claimed.
func TestPlanIsFixed(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		s := w.final(w.ask(with("good", "bad"), times(2), func(s *solve.Solve) {
			s.Request.Base, s.Request.TimeBudget, s.Request.Parallel = "other", 10*time.Minute, 2
			s.Request.Temps = []float64{0.5}
		}), solve.StateSolved)
		if len(s.Plan.Experiments) != 4 || *s.Plan.Experiments[3].Temperature != 0.5 || s.Plan.Experiments[3].Repeat != 2 || s.Plan.Experiments[3].Model != "bad" {
			w.Errorf("matrix %+v", s.Plan.Experiments)
		}
		if !slices.Equal(s.Plan.Unpriced, []string{"bad"}) {
			w.Errorf("models without a price %q, want the one whose money is not metered", s.Plan.Unpriced)
		}
		if s.Base.Branch != "other" || s.Base.SHA != w.hub.sha || s.Branch != "ai/fix-1-"+string(s.ID) {
			w.Errorf("base %+v, branch %s", s.Base, s.Branch)
		}
		if s.Plan.Limits.Parallel != 2 || s.Deadline.Sub(s.Started) != 10*time.Minute {
			w.Errorf("limits %+v, deadline after %s", s.Plan.Limits, s.Deadline.Sub(s.Started))
		}
		if w.hub.released != w.hub.count("clone") {
			w.Errorf("%d of %d clone tokens were given back", w.hub.released, w.hub.count("clone"))
		}
	})
}

// TestWrongModelsEndASolveAtOnce: with what to mend, before anything is cloned. One that others stand beside is only left out.
func TestWrongModelsEndASolveAtOnce(t *testing.T) {
	bubble(t, func(w *world) {
		w.models.answers = map[string]error{"good": model.NotPassed("good", 401, "the key was refused (HTTP 401); check THE_KEY")}
		w.writer()
		w.start("a")
		w.refusedFor(w.ask(with("good")), "No model of this solve can be used:\nmodel good: the key was refused (HTTP 401); check THE_KEY")
		if n := w.hub.count("clone"); n != 0 {
			w.Errorf("the repository was cloned %d times", n)
		}
		s := w.final(w.ask(with("good", "bad")), solve.StateUnsolved)
		if runs := w.runs(s.ID); len(runs) != 1 || runs[0].Experiment.Model != "bad" || len(s.Plan.Notes) != 1 {
			w.Errorf("runs %+v, notes %q", runs, s.Plan.Notes)
		}
	})
}

// TestPreparesOnce: one install, the base's tests twice because one fails, and a fork for each run and each verdict.
func TestPreparesOnce(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Tests.Install, w.cfg.Tests.Hosts = installCommand, []string{"registry.example.com"}
		w.writer()
		w.start("a")
		id := w.ask(times(4))
		s := w.final(id, solve.StateSolved)
		w.ends(id, slices.Repeat([]solve.RunState{solve.RunPassed}, 4)...)
		if i, b := w.machine.count(installCommand), w.machine.count(testCommand); i != 1 || b != 2+4 { // a test fails on the base
			w.Errorf("installed %d times, tests ran %d times; want 1 and 6 (the base fails a test, so twice there)", i, b)
		}
		for phase, want := range map[string]int{"prepare": 2, "work": 4, "judge": 4} {
			specs := w.driver.specs(phase)
			if len(specs) != want {
				w.Errorf("%d sandboxes to %s, want %d", len(specs), phase, want)
			}
			for _, spec := range specs {
				if install := strings.HasSuffix(spec.Name, "-install"); install != (len(spec.Network.Allow) > 0) {
					w.Errorf("%s may reach %q", spec.Name, spec.Network.Allow)
				}
				if phase != "prepare" && spec.From != s.Base.Image {
					w.Errorf("%s starts from %q, want the base %q", spec.Name, spec.From, s.Base.Image)
				}
			}
		}
		if s.Base.Install != installCommand || s.Base.Test.Command != testCommand || s.Base.Report.Exit != 1 {
			w.Errorf("base %+v", s.Base)
		}
	})
}

// TestBaseThatCannotBePrepared: the public reason names what is wrong, no model is paid.
func TestBaseThatCannotBePrepared(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, c := range map[string]struct {
		world  func(w *world)
		reason string
	}{
		"install fails":     {func(w *world) { w.machine.on(installCommand, exit(1, "no such package\n")) }, "`do-install` failed (exit 1). Mend it, or set solver.tests.install, or install.command in .github/yudai.yml. Its last line: `no such package`"},
		"install too slow":  {func(w *world) { w.machine.on(installCommand, sleeps(time.Hour)) }, "failed (exit -1, timed out)"},
		"tests not there":   {func(w *world) { w.machine.on(testCommand, exit(127, "")) }, "tests cannot be run"},
		"no tests found":    {func(w *world) { w.machine.on(testCommand, exit(0, "# tests 0\n")) }, "(command `run-tests`, from config). Set --test of yudai solve, or solver.tests.command in config.yml, or test.command in .github/yudai.yml."},
		"tests not known":   {func(w *world) { w.cfg.Tests.Command = "" }, "with solver.tests.command in config.yml"},
		"no repository":     {func(w *world) { w.hub.url = "/nonexistent" }, "clone octo/project"},
		"commit gone":       {func(w *world) { w.hub.sha = strings.Repeat("0", 40) }, "commit 0000"},
		"no sandbox":        {func(w *world) { w.driver.SetFault(failing(fakesandbox.OpOpen, "")) }, "open sandbox"},
		"sandbox dies":      {func(w *world) { w.driver.SetFault(failing(fakesandbox.OpExec, "")) }, "exec sandbox"},
		"base not freezing": {func(w *world) { w.driver.SetFault(failing(fakesandbox.OpFreeze, "-base")) }, "freeze sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install = installCommand
				c.world(w)
				w.start("a")
				s := w.final(w.ask(), solve.StateFailed)
				if s.Refused || !strings.Contains(s.Reason, c.reason) {
					w.Errorf("refused %t, reason %q, want %q", s.Refused, s.Reason, c.reason)
				}
				if len(w.runs(s.ID)) > 0 || w.models.count("good") > 0 {
					w.Error("a run was started")
				}
				w.clean()
			})
		})
	}
}

// TestPrepareIsTriedAgain: a moment of weakness of this machine costs no solve.
func TestPrepareIsTriedAgain(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, f := range map[string]func(fakesandbox.Op, string) error{
		"install": failing(fakesandbox.OpOpen, "-install"), "open": failing(fakesandbox.OpOpen, "-base"),
		"exec": failing(fakesandbox.OpExec, "-base"), "freeze": failing(fakesandbox.OpFreeze, "-base"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install = installCommand
				w.driver.SetFault(firstOnly(f))
				w.writer()
				w.start("a")
				w.final(w.ask(), solve.StateSolved)
			})
		})
	}
}

// TestPreparingIsBounded: so many bases at a time and no more, and the time of
// a solve that waits for its turn goes on.
func TestPreparingIsBounded(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Preparing, w.cfg.Tests.Install = 1, installCommand
		w.machine.on(installCommand, sleeps(8*time.Minute))
		w.writer()
		w.start("a")
		first := w.ask()
		w.state(first, solve.StatePreparing)
		second := w.ask(func(s *solve.Solve) { s.Request.TimeBudget = 5 * time.Minute })
		s := w.final(second, solve.StateExpired)
		if d := s.Ended.Sub(s.Started); d > 5*time.Minute+2*time.Second {
			w.Errorf("expired after %s, want 5m", d)
		}
		w.final(first, solve.StateSolved)
		if n := w.machine.count(installCommand); n != 1 {
			w.Errorf("installed %d times", n)
		}
	})
}
