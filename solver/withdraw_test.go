package solver_test

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// TestCancelBeforeThePullIsBegun: the write is withdrawn, and never made.
func TestCancelBeforeThePullIsBegun(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		writer.set(false, false)
		w.start("a")
		id := w.ask()
		w.state(id, solve.StatePublishing)
		w.cancel(id)
		writer.set(true, true)
		f, err := w.store.Effect(w.Context(), string(id)+"/pull")
		w.must(err)
		w.final(w.ask(), solve.StateSolved) // the writer had its chance
		if f.State != solve.EffectDead || writer.count() != 1 {
			w.Errorf("the write is %s, %d pull requests for the other solve's one", f.State, writer.count())
		}
	})
}

// TestCancelAfterThePullIsBegun: there may be a pull request already, so the end
// of the write decides; the engine waits for it without spinning.
func TestCancelAfterThePullIsBegun(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		writer.set(true, false)
		w.start("a")
		id := w.ask()
		w.await(time.Minute, "the write begun", func() bool {
			f, err := w.store.Effect(w.Context(), string(id)+"/pull")
			return err == nil && f.State == solve.EffectSending
		})
		asked := time.Now()
		_, err := w.store.RequestCancel(w.Context(), id, "bob", "")
		w.must(err)
		w.await(time.Hour, "half a minute", func() bool { return time.Since(asked) > 30*time.Second })
		if s := w.solve(id); s.State != solve.StatePublishing {
			w.Fatalf("the solve is %s while its pull request is being written", s.State)
		}
		writer.set(true, true)
		if s := w.final(id, solve.StateSolved); s.Pull == nil {
			w.Error("the pull request is not in the record")
		}
	})
}

// TestCancelThatGitHubRefusesAnyway: begun, refused: cancelled after all.
func TestCancelThatGitHubRefusesAnyway(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		writer.set(true, false)
		w.start("a")
		id := w.ask()
		w.await(time.Minute, "the write begun", func() bool {
			f, err := w.store.Effect(w.Context(), string(id)+"/pull")
			return err == nil && f.State == solve.EffectSending
		})
		writer.refuses("no")
		_, err := w.store.RequestCancel(w.Context(), id, "bob", "")
		w.must(err)
		w.final(id, solve.StateCancelled)
	})
}
