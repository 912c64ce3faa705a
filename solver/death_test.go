package solver_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// deaths are the moments in which a sandbox can die: before a command of that word, in a
// sandbox whose name ends so.
func deaths() map[string][2]string {
	return map[string][2]string{
		"lay": {"lay", "-install"}, "install": {installCommand, "-install"},
		"base tests": {testCommand, "-base"}, "base settled": {"settle", "-base"}, "base noted": {"noted", "-base"},
		"work": {"write", "-1-1"}, "between steps": {"fingerprint", "-1-1"},
		"harvest": {"harvest", "-1-1"},
		"judge":   {"apply", "-1-1-judge"}, "judge tests": {testCommand, "-1-1-judge"},
	}
}

// dies kills the sandbox before the command, as often, and tells how often it did.
func (w *world) dies(word, suffix string, times int) func() int {
	var mu sync.Mutex
	died := 0
	w.machine.watch(func(now string, c fakesandbox.Call) {
		mu.Lock()
		defer mu.Unlock()
		if now == word && strings.HasSuffix(c.Sandbox, suffix) && died < times {
			died++
			w.driver.Kill(c.Sandbox)
		}
	})
	return func() int { mu.Lock(); defer mu.Unlock(); return died }
}

// TestSandboxDiesOnce: in any phase it costs one more try, and no solve.
func TestSandboxDiesOnce(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, at := range deaths() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install = installCommand
				died := w.dies(at[0], at[1], 1)
				w.writer()
				w.start("a")
				id := w.ask(times(2))
				w.final(id, solve.StateSolved)
				for _, r := range w.ends(id, solve.RunPassed, solve.RunPassed) {
					if again := r.N == 1 && strings.HasSuffix(at[1], "-1-1"); (r.Attempt == 2) != again {
						w.Errorf("run %d: attempt %d: %s", r.N, r.Attempt, r.Reason)
					}
				}
				if died() != 1 {
					w.Errorf("%d sandboxes died", died())
				}
			})
		})
	}
}

// TestSandboxDiesEachTime: the run ends with its reason, the others go on, the solve ends.
func TestSandboxDiesEachTime(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, at := range deaths() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Tests.Install = installCommand
				suffix := strings.Replace(at[1], "-1-1", "-1-", 1) // of any attempt
				var mu sync.Mutex
				w.machine.watch(func(now string, c fakesandbox.Call) {
					mu.Lock()
					defer mu.Unlock()
					name := strings.Replace(c.Sandbox, "-1-2", "-1-1", 1)
					if now == at[0] && strings.HasSuffix(name, at[1]) {
						w.driver.Kill(c.Sandbox)
					}
				})
				w.writer()
				w.start("a")
				id := w.ask(times(2))
				if !strings.Contains(suffix, "-1-") { // there is no base
					s := w.final(id, solve.StateFailed)
					if !strings.Contains(s.Reason, "gone") || len(w.runs(id)) > 0 {
						w.Errorf("%d runs: %s", len(w.runs(id)), s.Reason)
					}
					w.clean()
					return
				}
				w.final(id, solve.StateSolved)
				r := w.ends(id, solve.RunError, solve.RunPassed)[0]
				if !strings.Contains(r.Reason, "gone") {
					w.Errorf("attempt %d: %s", r.Attempt, r.Reason)
				}
				w.clean()
			})
		})
	}
}

// TestOwnerDiesInEachPhase: the next process finds what there is and goes on; no run is
// begun anew whose sandbox lives, and nothing is left over.
func TestOwnerDiesInEachPhase(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, at := range deaths() {
		for _, fork := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "", false: " without fork"}[fork], func(t *testing.T) {
				bubble(t, func(w *world) {
					w.cfg.Tests.Install = installCommand
					at := at
					if !fork {
						at[1] = strings.Replace(at[1], "-install", "-base", 1)
					}
					w.driver.SetTraits(func(t *sandbox.Traits) { t.Fork = fork })
					w.writer()
					a := w.process("a")
					reached := make(chan struct{}, 100)
					stall := true
					var mu sync.Mutex
					w.machine.watch(func(now string, c fakesandbox.Call) {
						mu.Lock()
						wait := stall && now == at[0] && strings.HasSuffix(c.Sandbox, at[1])
						mu.Unlock()
						if wait {
							reached <- struct{}{}
							<-time.After(5 * time.Second)
						}
					})
					a.run()
					id := w.ask()
					<-reached
					mu.Lock()
					stall = false
					mu.Unlock()
					a.kill()
					w.start("b")
					w.final(id, solve.StateSolved)
					if r := w.ends(id, solve.RunPassed)[0]; r.Attempt != 1 {
						w.Errorf("attempt %d: %s", r.Attempt, r.Reason)
					}
					w.clean()
				})
			})
		}
	}
}
