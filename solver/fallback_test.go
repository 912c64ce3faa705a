package solver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// TestFallbackFromTheStart: with the first driver down, the second makes base and runs.
func TestFallbackFromTheStart(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(backed)
		w.cfg.Tests.Install = installCommand
		w.driver.SetFault(down)
		w.writer()
		w.start("a")
		id := w.ask(with("good", "bad"))
		s := w.final(id, solve.StateSolved)
		runs := w.ends(id, solve.RunPassed, solve.RunFailed)
		if one, two := w.opens("work"); s.Plan.Sandbox != "one" || one != 0 || two != 2 || runs[0].Attempt != 1 {
			w.Errorf("%d runs in one, %d in two, attempt %d", one, two, runs[0].Attempt)
		}
		if n := w.machine.count(installCommand); n != 1 {
			w.Errorf("installed %d times", n)
		}
		if runs[0].SandboxUses[0].Driver != "two" {
			w.Errorf("the run was in %+v", runs[0].SandboxUses)
		}
		w.driver.SetFault(nil)
	})
}

// TestFallbackInTheMiddle: the first driver is down as soon as it holds the base. The runs
// go on in the second, on a base of its own that is made once.
func TestFallbackInTheMiddle(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(backed)
		w.cfg.Tests.Install = installCommand
		w.driver.SetFault(refusing(sandbox.ErrUnavailable, fakesandbox.OpOpen, "-1", "-judge"))
		w.writer()
		w.start("a")
		id := w.ask(times(4))
		w.final(id, solve.StateSolved)
		for _, r := range w.ends(id, solve.RunPassed, solve.RunPassed, solve.RunPassed, solve.RunPassed) {
			if r.Attempt != 1 {
				w.Errorf("run %d: attempt %d, %s", r.N, r.Attempt, r.Reason)
			}
		}
		if n := w.machine.count(installCommand); n != 2 {
			w.Errorf("installed %d times, want once in each driver", n)
		}
	})
}

// TestFallbackForSome: the first driver has room for one run at a time; the others go to
// the second. The base of the first, which is in use, stays.
func TestFallbackForSome(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(backed)
		w.slowly("slowly")
		w.driver.SetFault(refusing(sandbox.ErrCapacity, fakesandbox.OpOpen, "-2-1", "-3-1", "-3-1-judge"))
		w.writer()
		w.start("a")
		id := w.ask(with("slowly"), times(3))
		w.final(id, solve.StateSolved)
		for _, r := range w.ends(id, solve.RunPassed, solve.RunPassed, solve.RunPassed) {
			want := map[int]string{1: "one one", 2: "two one", 3: "two two"}[r.N]
			var got []string
			for _, s := range r.SandboxUses {
				if s.Phase != "prepare" {
					got = append(got, s.Driver)
				}
			}
			if strings.Join(got, " ") != want || r.Attempt != 1 {
				w.Errorf("run %d, attempt %d: in %q, want %q: %s", r.N, r.Attempt, got, want, r.Reason)
			}
		}
		if one, two := w.opens("prepare"); one != 1 || two != 1 {
			w.Errorf("bases were made %d times in one, %d in two", one, two)
		}
	})
}

// TestFallbackLosesAMachine: the provider is lost while a run works. The run begins anew
// in the other driver, and the rest goes on there.
func TestFallbackLosesAMachine(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(backed)
		w.slowly("slowly")
		w.writer()
		w.start("a")
		id := w.ask(with("slowly"))
		w.steps(id, 3)
		w.driver.SetFault(down)
		w.driver.Kill(w.run1(id).Sandbox)
		w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if r.Attempt != 2 || r.SandboxUses[len(r.SandboxUses)-1].Driver != "two" {
			w.Errorf("attempt %d in %+v", r.Attempt, r.SandboxUses)
		}
		w.driver.SetFault(nil)
		_, err := w.driver.Sweep(w.Context(), func(sandbox.Info) bool { return false })
		w.must(err)
	})
}

// TestRoomIsWaitedFor: a provider that is full for some minutes costs no attempt.
func TestRoomIsWaitedFor(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for _, suffix := range []string{"-install", "-base", "-1-1", "-judge"} {
		t.Run(suffix, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install = installCommand
				until := time.Now().Add(5 * time.Minute)
				full := refusing(sandbox.ErrCapacity, fakesandbox.OpOpen, suffix)
				w.driver.SetFault(func(op fakesandbox.Op, name string) error {
					if time.Now().After(until) {
						return nil
					}
					return full(op, name)
				})
				w.writer()
				w.start("a")
				id := w.ask()
				s := w.final(id, solve.StateSolved)
				if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 || s.Ended.Before(until) || w.machine.count(installCommand) != 1 {
					w.Errorf("attempt %d, ended %s, want after %s", r.Attempt, s.Ended, until)
				}
			})
		})
	}
}

// TestRoomIsNotWaitedForForEver: the run ends with its reason, and others go on. Nobody
// waits beyond the solve's own time.
func TestRoomIsNotWaitedForForEver(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, limit := range map[string]time.Duration{"patience": time.Hour, "deadline": 3 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Limits.SolveTime = limit
				w.driver.SetFault(refusing(sandbox.ErrCapacity, fakesandbox.OpOpen, "-1-1", "-1-2"))
				w.writer()
				w.start("a")
				began := time.Now()
				id := w.ask(times(2))
				w.final(id, solve.StateSolved)
				runs := w.runs(id)
				if runs[1].State != solve.RunPassed || !runs[0].State.Final() || runs[0].State == solve.RunPassed {
					w.Errorf("ended as %s and %s", runs[0].State, runs[1].State)
				}
				if name == "patience" && (!strings.Contains(runs[0].Reason, "no room") || runs[0].Attempt != 2) {
					w.Errorf("attempt %d: %s", runs[0].Attempt, runs[0].Reason)
				}
				if d := time.Since(began); d > min(limit, 21*time.Minute)+time.Minute {
					w.Errorf("waited %s", d)
				}
			})
		})
	}
}

// TestWrongSettingsAreToldAtOnce: before any model is paid, with the provider's own words.
func TestWrongSettingsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	for _, op := range []fakesandbox.Op{fakesandbox.OpOpen, fakesandbox.OpAttach} {
		t.Run(string(op), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.driver.SetFault(refusing(wrongKey{}, op, "-base"))
				w.start("a")
				s := w.final(w.ask(), solve.StateFailed)
				if !strings.Contains(s.Reason, "sandbox.fake.api_key_env") || strings.Contains(s.Reason, "could not go on") || w.driver.Count(op) > 2 {
					w.Errorf("%d tries: %q", w.driver.Count(op), s.Reason)
				}
			})
		})
	}
}

// wrongKey is what a driver says of a key that its provider refuses.
type wrongKey struct{}

func (wrongKey) Error() string {
	return "the key is refused: set sandbox.fake.api_key_env to one that is valid"
}
func (wrongKey) Unwrap() error { return sandbox.ErrSetting }

// TestSettingRefusedInARun: it ends that run with its reason at the first try, and no other.
func TestSettingRefusedInARun(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"-1-1", "-1-1-judge"} {
		t.Run(suffix, func(t *testing.T) {
			bubble(t, func(w *world) {
				asked, refuse := 0, refusing(wrongKey{}, fakesandbox.OpOpen, suffix)
				w.driver.SetFault(func(op fakesandbox.Op, name string) error {
					err := refuse(op, name)
					if err != nil {
						asked++
					}
					return err
				})
				w.writer()
				w.start("a")
				id := w.ask(times(2))
				w.final(id, solve.StateSolved)
				if r := w.ends(id, solve.RunError, solve.RunPassed)[0]; r.Attempt != 1 || !strings.Contains(r.Reason, "sandbox.fake.api_key_env") {
					w.Errorf("attempt %d: %s", r.Attempt, r.Reason)
				}
				if n := len(w.driver.specs("judge")); n != 1 || asked != 1 {
					w.Errorf("%d sandboxes to judge in, the refused one was asked for %d times", n, asked)
				}
			})
		})
	}
}
