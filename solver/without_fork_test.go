package solver_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// forkless drivers cannot turn one prepared sandbox into many, each for another reason.
func forkless() map[string]func(*boxes) {
	return map[string]func(*boxes){
		"by its traits": func(b *boxes) { b.SetTraits(func(t *sandbox.Traits) { t.Fork = false }) },
		"as it turns out": func(b *boxes) {
			b.SetFault(func(op fakesandbox.Op, _ string) error {
				if op == fakesandbox.OpFreeze {
					return errors.ErrUnsupported
				}
				return nil
			})
		},
	}
}

// online collects the commands that ran while their sandbox had a network.
func (w *world) online() func() []string {
	var mu sync.Mutex
	var words []string
	w.machine.watch(func(word string, c fakesandbox.Call) {
		mu.Lock()
		defer mu.Unlock()
		if len(c.Network.Allow) > 0 && !slices.Contains(words, word) {
			words = append(words, word)
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(words))
	}
}

// TestWithoutForkEverySandboxIsPrepared: by itself, with the same commands; the base is
// tested once all the same, nothing but the install ever runs with a network, and the
// champion is the one that forks would have given.
func TestWithoutForkEverySandboxIsPrepared(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, weaken := range forkless() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install, w.cfg.Tests.Hosts, w.cfg.Tests.Tries = installCommand, []string{"pypi.org"}, 1
				w.play("longer", run("write good but longer"))
				reached := w.online()
				w.writer()
				w.start("a")
				ask := with("bad", "longer", "good", "idle")
				first := w.final(w.ask(ask), solve.StateSolved)
				w.clean()
				installs, tests := w.machine.count(installCommand), w.machine.count(testCommand)
				weaken(w.driver)
				second := w.final(w.ask(ask), solve.StateSolved)
				if first.Decision.Champion != second.Decision.Champion || !slices.Equal(first.Decision.Ranking, second.Decision.Ranking) {
					w.Errorf("with forks %+v, without %+v", first.Decision, second.Decision)
				}
				if first.Base.Image == "" || second.Base.Image != "" {
					w.Errorf("bases %q and %q", first.Base.Image, second.Base.Image)
				}
				// Four agents, three candidates to judge, and the base.
				if n := w.machine.count(installCommand) - installs; installs != 1 || n != 8 {
					w.Errorf("installed %d times with forks, %d without", installs, n)
				}
				if n := w.machine.count(testCommand) - tests; n != tests {
					w.Errorf("tested %d times with forks, %d without", tests, n)
				}
				if got, want := reached(), []string{installCommand, "lay"}; !slices.Equal(got, want) {
					w.Errorf("with a network ran %q, want %q", got, want)
				}
			})
		})
	}
}

// TestWithoutForkAndInstall needs no network at all, so any driver will do.
func TestWithoutForkAndInstall(t *testing.T) {
	bubble(t, func(w *world) {
		w.driver.SetTraits(func(t *sandbox.Traits) { t.Fork, t.Egress = false, false })
		w.writer()
		w.start("a")
		id := w.ask()
		w.final(id, solve.StateSolved)
		if n := w.machine.count("lay"); n != 3 {
			w.Errorf("laid %d times, want once for base, agent and judge", n)
		}
	})
}

// TestNeitherForkNorRestrict: such a driver would give the agents the network of the
// install. It is refused before anything is opened, or as soon as it turns out.
func TestNeitherForkNorRestrict(t *testing.T) {
	t.Parallel()
	for name, weaken := range forkless() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install, w.cfg.Tests.Hosts = installCommand, []string{"pypi.org"}
				weaken(w.driver)
				w.driver.SetTraits(func(t *sandbox.Traits) { t.Egress = false })
				w.start("a")
				s := w.final(w.ask(), solve.StateFailed)
				if !strings.Contains(s.Reason, "can neither copy a prepared sandbox nor close the network") || !strings.Contains(s.Reason, "sandbox.driver") {
					w.Errorf("reason %q", s.Reason)
				}
				if name == "by its traits" && w.driver.Count(fakesandbox.OpOpen) > 0 || w.machine.count(testCommand) > 0 || w.machine.count(installCommand) > 1 {
					w.Errorf("%d sandboxes, %d installs, %d runs of the tests", w.driver.Count(fakesandbox.OpOpen), w.machine.count(installCommand), w.machine.count(testCommand))
				}
				w.clean()
			})
		})
	}
}

// TestNetworkThatDoesNotClose: a sandbox whose network could not be ended is never worked in.
func TestNetworkThatDoesNotClose(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Tests.Install, w.cfg.Tests.Hosts = installCommand, []string{"pypi.org"}
		w.driver.SetTraits(func(t *sandbox.Traits) { t.Fork = false })
		w.driver.SetFault(failing(fakesandbox.OpRestrict, "-1-1"))
		reached := w.online()
		w.writer()
		w.start("a")
		id := w.ask()
		w.final(id, solve.StateSolved)
		if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 2 {
			w.Errorf("attempt %d", r.Attempt)
		}
		if got, want := reached(), []string{installCommand, "lay"}; !slices.Equal(got, want) {
			w.Errorf("with a network ran %q, want %q", got, want)
		}
	})
}

// TestSettledAlike: what the base's tests leave beside the sources never enters a patch,
// in a sandbox that was prepared by itself either.
func TestSettledAlike(t *testing.T) {
	bubble(t, func(w *world) {
		w.driver.SetTraits(func(t *sandbox.Traits) { t.Fork = false })
		w.machine.on("noted", exit(0, "/reports/\n"))
		var mu sync.Mutex
		noted := map[string]int{}
		w.machine.on("note", func(_ context.Context, c fakesandbox.Call) (sandbox.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			noted[c.Labels["phase"]]++
			return sandbox.Result{}, nil
		})
		w.writer()
		w.start("a")
		w.final(w.ask(), solve.StateSolved)
		mu.Lock()
		defer mu.Unlock()
		if noted["work"] != 1 || noted["judge"] != 1 || noted["prepare"] != 0 {
			w.Errorf("noted %v", noted)
		}
	})
}

// TestForklessFallback: the driver that takes over can neither fork nor hold the
// first one's base; there the runs are prepared one by one.
func TestForklessFallback(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(backed)
		w.cfg.Tests.Install, w.cfg.Tests.Hosts = installCommand, []string{"pypi.org"}
		w.second.SetTraits(func(t *sandbox.Traits) { t.Fork = false })
		w.driver.SetFault(refusing(sandbox.ErrUnavailable, fakesandbox.OpOpen, "-2-1", "-2-1-judge"))
		reached := w.online()
		w.writer()
		w.start("a")
		id := w.ask(times(2))
		w.final(id, solve.StateSolved)
		for _, r := range w.ends(id, solve.RunPassed, solve.RunPassed) {
			if want := map[int]string{1: "one", 2: "two"}[r.N]; r.Attempt != 1 || r.SandboxUses[0].Driver != want {
				w.Errorf("run %d, attempt %d: %+v", r.N, r.Attempt, r.SandboxUses)
			}
		}
		if n := w.machine.count(installCommand); n != 3 {
			w.Errorf("installed %d times", n)
		}
		if got, want := reached(), []string{installCommand, "lay"}; !slices.Equal(got, want) {
			w.Errorf("with a network ran %q, want %q", got, want)
		}
	})
}

// TestForklessAsItTurnsOut: that a driver holds no bases is learnt once, and not again by
// each of its runs.
func TestForklessAsItTurnsOut(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(backed)
		w.cfg.Tests.Install, w.cfg.Tests.Hosts = installCommand, []string{"pypi.org"}
		w.second.SetFault(refusing(errors.ErrUnsupported, fakesandbox.OpFreeze, ""))
		w.driver.SetFault(refusing(sandbox.ErrUnavailable, fakesandbox.OpOpen, "-1", "-judge"))
		w.writer()
		w.start("a")
		id := w.ask(times(3))
		w.final(id, solve.StateSolved)
		w.ends(id, slices.Repeat([]solve.RunState{solve.RunPassed}, 3)...)
		// Once for the base, once for the one that could not be made, twice for each run.
		if n := w.machine.count(installCommand); n != 8 {
			w.Errorf("installed %d times", n)
		}
	})
}
