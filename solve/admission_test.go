package solve_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

func aged(id string, repo int64, minutes int, state solve.State, node string) solve.Brief {
	return solve.Brief{ID: solve.ID(id), Repo: repo, Installation: repo, Created: noon.Add(-time.Duration(minutes) * time.Minute), State: state, Owner: node}
}

func TestNextClaim(t *testing.T) {
	t.Parallel()
	var (
		old       = aged("old", 1, 9, solve.StateQueued, "")
		other     = aged("other", 2, 5, solve.StateQueued, "")
		orphan    = aged("orphan", 3, 1, solve.StateQueued, "dead")
		owned     = aged("owned", 1, 8, solve.StatePreparing, owner)
		preparing = aged("preparing", 1, 3, solve.StatePreparing, "dead")
		reducing  = aged("reducing", 2, 4, solve.StateReducing, "")
		running   = aged("running", 1, 7, solve.StateRunning, "")
		cancelled = running
		overdue   = running
	)
	cancelled.Cancelled, overdue.Deadline = true, noon
	for name, c := range map[string]struct {
		begun, waiting []solve.Brief
		runs           []solve.RunState
		want           solve.ID
	}{
		"nothing":                      {},
		"the oldest waiting":           {waiting: []solve.Brief{other, old}, want: "old"},
		"the idle repository":          {begun: []solve.Brief{owned}, waiting: []solve.Brief{old, other}, want: "other"},
		"an orphan waits again":        {begun: []solve.Brief{owned, orphan}, waiting: []solve.Brief{old}, want: "orphan"},
		"what was begun before":        {begun: []solve.Brief{preparing, reducing}, waiting: []solve.Brief{old}, want: "reducing"},
		"a running one is left alone":  {begun: []solve.Brief{running}, runs: []solve.RunState{solve.RunQueued}},
		"a running one without a run":  {begun: []solve.Brief{running}, runs: []solve.RunState{solve.RunEmpty}, want: "running"},
		"a running one that must stop": {begun: []solve.Brief{cancelled}, runs: []solve.RunState{solve.RunQueued}, want: "running"},
		"a running one out of time":    {begun: []solve.Brief{overdue}, runs: []solve.RunState{solve.RunQueued}, want: "running"},
	} {
		if got := solve.NextClaim(begin(solve.StateRunning, c.runs...), c.begun, c.waiting, noon); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNextAdmission admits until nothing may start. Every cap holds, no run of a later
// wave starts, and a solve is only passed over while something holds it back.
func TestNextAdmission(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.IntRange(0, 3)
		caps := solve.Caps{Process: 2 * few.Draw(t, "process"), Installation: few.Draw(t, "installation"), Repository: few.Draw(t, "repository")}
		var list []solve.Load
		left := map[solve.ID]int{}
		for i := range rapid.IntRange(0, 6).Draw(t, "solves") {
			l := solve.Load{Brief: aged(string(rune('a'+i)), int64(few.Draw(t, "repo")), few.Draw(t, "age"), solve.StateRunning, "")}
			l.Installation, l.Parallel, l.Brief.Wave = l.Repo/2, few.Draw(t, "parallel"), few.Draw(t, "wave")
			l.Cancelled = few.Draw(t, "cancelled") == 3
			if left[l.ID] = few.Draw(t, "queued"); left[l.ID] > 0 {
				l.N, l.Wave = 1, few.Draw(t, "first wave")
			}
			list = append(list, l)
		}
		busy := func(fits func(solve.Load) bool) (n int) {
			for _, l := range list {
				if fits(l) {
					n += l.Active
				}
			}
			return n
		}
		blocked := func(l solve.Load) bool {
			over := func(most, n int) bool { return most > 0 && n >= most }
			return l.N == 0 || l.Cancelled || l.Wave > l.Brief.Wave || over(l.Parallel, l.Active) ||
				over(caps.Process, busy(func(solve.Load) bool { return true })) ||
				over(caps.Installation, busy(func(o solve.Load) bool { return o.Installation == l.Installation })) ||
				over(caps.Repository, busy(func(o solve.Load) bool { return o.Repo == l.Repo }))
		}
		load := func(l solve.Load) int { return busy(func(o solve.Load) bool { return o.Repo == l.Repo }) }
		for {
			next := solve.NextAdmission(list, caps, noon)
			if next < 0 {
				break
			}
			l := &list[next]
			if blocked(*l) {
				t.Fatalf("%+v was admitted", *l)
			}
			for _, o := range list {
				if !blocked(o) && (load(o) < load(*l) || load(o) == load(*l) && o.Created.Before(l.Created)) {
					t.Fatalf("%+v was admitted before %+v", *l, o)
				}
			}
			l.Active++
			if left[l.ID]--; left[l.ID] == 0 {
				l.N = 0
			}
		}
		for _, l := range list {
			if !blocked(l) {
				t.Fatalf("%+v was left out", l)
			}
		}
	})
}
