package solve_test

import (
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// TestQueue: whose turn it is, among the waiting of several repositories.
func TestQueue(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	one := func(id string, repo int64, age int, state solve.State) solve.Solve {
		return solve.Solve{ID: solve.ID(id), Repo: solve.Repo{ID: repo}, State: state, Created: start.Add(time.Duration(age) * time.Second)}
	}
	owned := one("owned", 2, 0, solve.StateQueued)
	owned.Lease.Node = "n"
	for name, c := range map[string]struct {
		live []solve.Solve
		want []solve.ID
	}{
		"nobody":              {nil, nil},
		"by age":              {[]solve.Solve{one("c", 1, 3, solve.StateQueued), one("a", 1, 1, solve.StateQueued), one("b", 1, 2, solve.StateQueued)}, []solve.ID{"a", "b", "c"}},
		"by name at one time": {[]solve.Solve{one("b", 2, 1, solve.StateQueued), one("a", 1, 1, solve.StateQueued)}, []solve.ID{"a", "b"}},
		"in turns": {[]solve.Solve{
			one("a1", 1, 1, solve.StateQueued), one("a2", 1, 2, solve.StateQueued), one("a3", 1, 3, solve.StateQueued),
			one("b1", 2, 4, solve.StateQueued), one("c1", 3, 5, solve.StateQueued), one("b2", 2, 6, solve.StateQueued),
		}, []solve.ID{"a1", "b1", "c1", "a2", "b2", "a3"}},
		"those at work count": {[]solve.Solve{
			one("x", 1, 0, solve.StateRunning), one("y", 1, 0, solve.StatePublishing), owned, one("z", 3, 0, solve.StateSolved),
			one("a", 1, 1, solve.StateQueued), one("b1", 2, 2, solve.StateQueued), one("b2", 2, 3, solve.StateQueued), one("c", 3, 4, solve.StateQueued),
		}, []solve.ID{"c", "b1", "a", "b2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []solve.ID
			for _, s := range solve.Queue(c.live) {
				got = append(got, s.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the queue is %v, want %v", got, c.want)
			}
		})
	}
}

// TestPlaceCommentEnds: a comment that told a place is brought to its end, however the solve ends.
func TestPlaceCommentEnds(t *testing.T) {
	t.Parallel()
	for _, place := range []int{0, 3} {
		for name, s := range map[string]solve.Solve{
			"cancelled": {ID: "s", State: solve.StateCancelled, Place: place},
			"refused":   {ID: "s", State: solve.StateFailed, Refused: true, Place: place},
			"denied":    {ID: "s", State: solve.StateFailed, Refused: true, Denied: true, Place: place},
		} {
			event := solve.EventFailed
			if s.State == solve.StateCancelled {
				event = solve.EventCancelled
			}
			told := slices.ContainsFunc(solve.EffectsOf(s, nil, event), func(e solve.Effect) bool { return e.Kind == solve.EffectNotice })
			if told != (place > 0) {
				t.Errorf("%s at place %d: comment %t", name, place, told)
			}
		}
	}
}
