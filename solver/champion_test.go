package solver_test

import (
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func TestGoodCandidateWins(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		id := w.ask(with("bad", "good", "idle", "norun"))
		w.final(id, solve.StateSolved)
		w.ends(id, solve.RunFailed, solve.RunPassed, solve.RunEmpty, solve.RunNoVerdict)
	})
}
