package simulation_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

// Flags of the pairs.
var (
	pairs = flag.Int("pairs", 40/raceThin, "how many pairs of ends to draw; 0 plays all pairs of crashes of the solved scenario")
	seed  = flag.Uint64("seed", 1, "of the draw")
)

// TestPairs ends the first process and then, wherever that left things, the second.
func TestPairs(t *testing.T) {
	t.Parallel()
	require.Long(t)
	var met atomic.Int32
	t.Cleanup(func() { t.Logf("%d pairs", met.Load()) })
	play := func(t *testing.T, s scenario, plan ...point) {
		t.Run(s.name+":"+planText(plan), func(t *testing.T) {
			t.Parallel()
			out := simulate(t, s, whole, plan...)
			report(t, s, plan, out)
			if out.crashes == 2 {
				met.Add(1)
			}
		})
	}
	if *pairs == 0 {
		allPairs(t, scenarios()[0], play)
		return
	}
	t.Logf("seed %d", *seed)
	draw := rand.New(rand.NewPCG(*seed, 0))
	ways := []byte{crashAfter, crashAfter, crashBefore, stopAt, stallAt}
	var lengths []int
	for _, s := range scenarios() {
		lengths = append(lengths, simulate(t, s, whole).boundaries[0])
	}
	for range *pairs {
		which := max(0, draw.IntN(2*len(lengths))-len(lengths)) // half of them the first
		first := 1 + draw.IntN(lengths[which])
		second := 1 + draw.IntN(max(8, lengths[which]-first))
		play(t, scenarios()[which],
			point{n: first, how: ways[draw.IntN(len(ways))]}, point{n: second, how: ways[draw.IntN(len(ways))]})
	}
}

// allPairs learns from each single crash how many boundaries the second process has.
func allPairs(t *testing.T, s scenario, play func(*testing.T, scenario, ...point)) {
	n := simulate(t, s, whole).boundaries[0]
	for k := 1; k <= n; k++ {
		first := point{n: k, how: crashAfter}
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			out := simulate(t, s, whole, first)
			report(t, s, []point{first}, out)
			if len(out.boundaries) < 2 {
				return // this time there were fewer
			}
			for second := 1; second <= out.boundaries[1]; second++ {
				play(t, s, first, point{n: second, how: crashAfter})
			}
		})
	}
}
