package solver_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// closable makes a repository whose tests have names, and restores files as the real one does.
func (w *world) closable() {
	w.named()
	w.machine.on("restore", func(_ context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		data, err := io.ReadAll(c.Command.Stdin)
		if strings.Contains(string(data), answerFile) {
			c.Files[answerPath] = "base"
		}
		if strings.Contains(string(data), testFile) {
			delete(c.Files, testPath)
		}
		return sandbox.Result{}, err
	})
	w.hub.set(func(h *hub) { h.pull = solve.PullNow{Merged: true, Base: "main", Commit: w.closing, SHA: w.closing} })
}

// closed tells that a pull request of somebody else's closed the issue.
func (w *world) closed(issue int) {
	w.Helper()
	a := solve.Command{Kind: solve.CommandHindsight, Repo: w.solve(w.newest(issue)).Repo, Issue: issue, N: 900 + issue, At: time.Now()}
	_, err := w.store.Accept(w.Context(), solve.Delivery{GUID: fmt.Sprint("closed", issue), Received: time.Now()}, solve.Intent{Command: &a})
	w.must(err)
}

func (w *world) newest(issue int) solve.ID {
	w.Helper()
	s, err := w.store.LatestSolve(w.Context(), 7, issue)
	w.must(err)
	return s.ID
}

// won says how many candidates of each model were right.
func (w *world) won() map[string][2]int {
	w.Helper()
	records, err := w.store.TrackRecords(w.Context())
	w.must(err)
	out := map[string][2]int{}
	for _, r := range records {
		for _, h := range r.Arms {
			out[h.Arm.Model] = [2]int{h.Won, h.Known}
		}
	}
	return out
}

func (w *world) answered() {
	w.Helper()
	w.await(time.Hour, "an answer", func() bool {
		list, err := w.store.Commands(w.Context())
		return err == nil && len(list) == 0
	})
}

// TestHindsight: the tests of somebody else's change that closed the issue say which candidates were right, once, and the
// bundle of the solve still verifies.
func TestHindsight(t *testing.T) {
	bubble(t, func(w *world) {
		w.closable()
		w.writer()
		w.start("a")
		s := w.final(w.ask(with("half", "also", "good")), solve.StateSolved)
		want := map[string][2]int{"half": {0, 1}, "also": {1, 1}, "good": {1, 1}}
		if got := w.won(); got["half"] != [2]int{} {
			w.Errorf("before: %v", got)
		}
		bundled := w.bundled(s.ID)
		w.closed(s.Issue.Number)
		w.answered()
		if got := w.won(); !maps.Equal(got, want) {
			w.Errorf("%v, want %v", got, want)
		}
		if now := w.bundled(s.ID); blobs(now) != blobs(bundled) {
			w.Errorf("the bundle has %s, and had %s", blobs(now), blobs(bundled))
		}
	})
}

// TestHindsightWaits: it begins when nothing is solved, ends when a solve comes, and outlives its process.
func TestHindsightWaits(t *testing.T) {
	bubble(t, func(w *world) {
		w.closable()
		w.writer()
		w.play("idler", run("sleep 5m"), run("write good"))
		w.cfg.Tests.Install = installCommand
		w.machine.on(installCommand, sleeps(2*time.Minute))
		tests := func(c fakesandbox.Call) bool { return strings.HasSuffix(c.Sandbox, "-cross") }
		busy, at := "", 0
		w.machine.watch(func(word string, c fakesandbox.Call) {
			live, err := w.store.LiveSolves(context.Background())
			if word == testCommand && tests(c) {
				if at++; err != nil || len(live) > 0 {
					busy = c.Sandbox
				}
			}
		})
		p := w.start("a")
		s := w.final(w.ask(with("half", "good")), solve.StateSolved)
		installs := w.machine.count(installCommand)
		w.closed(s.Issue.Number)
		w.await(time.Minute, "hindsight", func() bool { return w.machine.count(installCommand) > installs })
		id := w.ask(with("idler"))
		w.await(10*time.Minute, "a solve at work", func() bool { return w.solve(id).State == solve.StateRunning })
		if w.won()["good"] != [2]int{} {
			w.Errorf("it went on: %v", w.won())
		}
		p.kill()
		w.start("b")
		w.answered()
		if got := w.won(); got["half"] != [2]int{0, 1} || got["good"] != [2]int{1, 1} || busy != "" || at == 0 {
			w.Errorf("%v after %d runs, beside a solve in %q", got, at, busy)
		}
	})
}

// TestHindsightHasTurns: while GitHub tells nothing of one pull request, the candidates for another issue are judged, and the first
// are when it tells.
func TestHindsightHasTurns(t *testing.T) {
	bubble(t, func(w *world) {
		w.closable()
		w.writer()
		w.start("a")
		var numbers []int
		for range 3 {
			numbers = append(numbers, w.final(w.ask(with("half", "good")), solve.StateSolved).Issue.Number)
		}
		w.hub.always[fmt.Sprintf("pull %d", 900+numbers[0])] = fault{passes: true}
		for _, n := range numbers {
			w.closed(n)
		}
		left := func(n int) func() bool {
			return func() bool {
				list, err := w.store.Commands(w.Context())
				return err == nil && len(list) == n
			}
		}
		w.await(time.Hour, "two answers", left(1))
		if got := w.won()["good"]; got != [2]int{2, 2} {
			w.Errorf("while the first waits: %v", got)
		}
		w.hub.set(func(h *hub) { clear(h.always) })
		w.await(time.Hour, "the last answer", left(0))
		if got := w.won()["good"]; got != [2]int{3, 3} {
			w.Errorf("at the end: %v", got)
		}
	})
}

// TestNoHindsight: where nothing may be learned, nothing is prepared or asked.
func TestNoHindsight(t *testing.T) {
	for name, change := range map[string]func(*world){
		"turned off":        func(w *world) { w.cfg.Record = false },
		"no runs":           func(w *world) { w.cfg.Tests.CrossRuns = 0 },
		"not merged":        func(w *world) { w.hub.pull.Merged = false },
		"on another branch": func(w *world) { w.hub.pull.Base = "next" },
		"nothing before it": func(w *world) { w.hub.pull.Commit = w.hub.sha },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.closable()
				change(w)
				w.writer()
				w.start("a")
				s := w.final(w.ask(with("half", "good")), solve.StateSolved)
				lays := w.machine.count("lay")
				w.closed(s.Issue.Number)
				w.answered()
				if n := w.machine.count("lay") - lays; n != 0 || w.won()["good"] != [2]int{} {
					w.Errorf("%d trees were laid out: %v", n, w.won())
				}
			})
		})
	}
}
