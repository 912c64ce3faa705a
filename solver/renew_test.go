package solver_test

import (
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestRenewComment: a deleted progress comment is wanted again while its solve lives,
// and never after; what names no solve of the repository changes nothing.
func TestRenewComment(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.start("a")
		id := w.ask(with("long"))
		w.runState(id, solve.RunWorking)
		wanted := func() uint64 {
			f, err := w.store.Effect(w.Context(), string(id)+"/comment")
			w.must(err)
			return f.Wanted
		}
		renew := func(id solve.ID, repo int64) {
			w.Helper()
			reply, reaction := w.sayAs(solve.CommandRenew, 1, "", func(a *solve.Command) { a.Solve, a.Repo.ID = id, repo })
			if reply != "" || reaction != "" {
				w.Errorf("somebody was answered %q with %q", reply, reaction)
			}
		}
		before := wanted()
		renew(id, 7)
		if got := wanted(); got != before+1 {
			w.Errorf("version %d is wanted after %d", got, before)
		}
		renew(id, 8)
		renew("unheard", 7)
		if got := wanted(); got != before+1 {
			w.Errorf("version %d is wanted, though nothing was deleted", got)
		}
		w.cancel(id)
		w.final(id, solve.StateCancelled)
		before = wanted()
		renew(id, 7)
		if got := wanted(); got != before {
			w.Error("the comment of a solve that ended is written anew")
		}
	})
}
