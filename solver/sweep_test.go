package solver_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// litter opens a sandbox, or freezes a base, of that name.
func (w *world) litter(name string, base bool) {
	w.Helper()
	d := &tenant{boxes: w.driver}
	sb, err := d.Open(w.Context(), sandbox.Spec{Name: name})
	w.must(err)
	if base {
		_, err = d.Freeze(w.Context(), sb)
		w.must(err)
	}
}

// TestSweepKeepsTheLiving and removes the rest, at the start and ever after.
func TestSweepKeepsTheLiving(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.SweepEvery, w.cfg.Tests.Install, w.cfg.Tests.Time = 10*time.Second, installCommand, time.Hour
		w.cfg.Preparing = 1
		w.endless("long", "good")
		w.litter("y-old-1-1", false)
		w.litter("y-old-base", true)
		w.start("a")
		w.clean()

		working := w.ask(with("long", "slow"))
		w.await(time.Minute, "one run at work and one being judged", func() bool {
			r := w.runs(working)
			return len(r) == 2 && r[0].Progress.Steps > 1 && r[1].State == solve.RunJudging
		})
		w.machine.on(installCommand, sleeps(time.Hour))
		preparing := w.ask(times(1))
		w.await(time.Minute, "the install", func() bool { return w.machine.count(installCommand) == 2 })
		living := w.driver.leftovers()
		name := func(id solve.ID, end string) string { return "y-" + string(id) + end }
		want := []string{
			name(working, "-1-1"), name(working, "-2-1-judge"), name(working, "-base"), name(working, "-install"), name(preparing, "-install"),
		}
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(living)); !slices.Equal(got, want) {
			w.Fatalf("living are %q, want %q", got, want)
		}
		w.litter(name(working, "-1-0"), false) // of an earlier attempt
		w.litter(name("solve000000000000099", "-base"), true)
		began := time.Now()
		w.await(time.Minute, "two sweeps", func() bool { return time.Since(began) > 21*time.Second })
		left := slices.DeleteFunc(w.driver.leftovers(), func(n string) bool { return strings.HasSuffix(n, "-judge") })
		want = slices.DeleteFunc(want, func(n string) bool { return strings.HasSuffix(n, "-judge") })
		if got := slices.Sorted(slices.Values(left)); !slices.Equal(got, want) {
			w.Errorf("left are %q, want %q", got, want)
		}
		w.cancel(preparing)
		w.cancel(working)
	})
}

// TestSweepRacesWithOpening: a sandbox that is opened between the listing and
// the question, and one that was listed just before its run was known as living, stay.
func TestSweepRacesWithOpening(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.SweepEvery = time.Second
		w.cfg.Caps, w.cfg.Limits.Parallel = solve.Caps{Process: 6}, 3
		w.writer()
		var mu sync.Mutex
		lists := 0
		a := w.process("a")
		a.driver.sweep = func(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
			opens := w.driver.Count(fakesandbox.OpOpen)
			mu.Lock()
			lists++
			mu.Unlock()
			first := true
			return a.driver.Driver.Sweep(ctx, func(i sandbox.Info) bool {
				if first { // listed; now let others open before the store is read
					first = false
					wait, stop := context.WithTimeout(ctx, 10*time.Second)
					defer stop()
					hints := w.store.Watch(wait)
					for wait.Err() == nil && w.driver.Count(fakesandbox.OpOpen) < opens+2 {
						<-hints
					}
				}
				return keep(i)
			})
		}
		a.run()
		w.play("some", run("write good"), run("sleep 2s"), run("sleep 2s"))
		var ids []solve.ID
		for range 4 {
			ids = append(ids, w.ask(with("some"), times(4)))
		}
		for _, id := range ids {
			w.final(id, solve.StateSolved)
			for _, r := range w.ends(id, slices.Repeat([]solve.RunState{solve.RunPassed}, 4)...) {
				if r.Attempt != 1 {
					w.Errorf("run %d of %s: attempt %d: %s", r.N, id, r.Attempt, r.Reason)
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if lists < 5 {
			w.Errorf("only %d sweeps", lists)
		}
	})
}

// TestSweepKillsNothingBlindly: while the store cannot be read, all live.
func TestSweepKillsNothingBlindly(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.SweepEvery = 10 * time.Second
		w.litter("y-old-1-1", false)
		a := w.process("a")
		var blind = true
		var mu sync.Mutex
		a.store.on(func(op string, _ solve.Change) error {
			mu.Lock()
			defer mu.Unlock()
			if op == "live" && blind {
				return errDisk
			}
			return nil
		}, nil)
		a.run()
		w.await(time.Minute, "some sweeps", func() bool { return w.driver.Count(fakesandbox.OpSweep) > 2 })
		if len(w.driver.leftovers()) != 1 {
			w.Error("a sandbox was removed although nobody could tell whose it is")
		}
		mu.Lock()
		blind = false
		mu.Unlock()
		w.clean()
	})
}
