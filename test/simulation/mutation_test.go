package simulation_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

// TestMutations breaks one safeguard at a time. The simulation must notice it at
// a crash that the whole program survives.
func TestMutations(t *testing.T) {
	t.Parallel()
	require.Daily(t)
	const newComment = "POST /repos/octo/project/issues/1/comments"
	for mut, at := range map[mutation]struct {
		scenario string
		point    point
	}{
		mutAck:    {"solved", point{n: 2, how: crashAfter, at: "heartbeat"}},
		mutLookUp: {"solved", point{n: 1, how: crashAfter, at: newComment}},
		mutSettle: {"lag", point{n: 2, how: crashAfter, at: newComment}}, // the result: nothing else delays its repetition
		mutSweep:  {"solved", point{n: 1, how: crashAfter, at: "apply champion"}},
		mutAdopt:  {"solved", point{n: 4, how: crashAfter, at: "step of run 2"}},
		mutForget: {"solved", point{n: 4, how: crashAfter, at: "step of run 2"}},
	} {
		t.Run(string(mut), func(t *testing.T) {
			t.Parallel()
			for _, s := range scenarios() {
				if s.name != at.scenario {
					continue
				}
				report(t, s, []point{at.point}, simulate(t, s, whole, at.point))
				broken := simulate(t, s, mut, at.point)
				if broken.crashes != 1 || len(broken.problems) == 0 {
					t.Errorf("not noticed, with %d crashes", broken.crashes)
				}
				for _, p := range broken.problems {
					t.Logf("noticed: %s", p)
				}
			}
		})
	}
}
