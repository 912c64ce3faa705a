package simulation_test

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

// Flags of these tests.
var (
	onePlan = flag.String("plan", "", "play only this plan, as a failing test prints it: scenario:17+,4s")
	verbose = flag.Bool("program-log", false, "print what the program logs")
	every   = flag.Bool("every", false, "end the process at every boundary of every scenario in every way, not only in some")
)

// report fails the test with how to see it again.
func report(t *testing.T, s scenario, plan []point, out outcome) {
	t.Helper()
	if len(out.problems) == 0 {
		return
	}
	t.Errorf("%s: %s\nagain: go test ./test/simulation -run TestPlan -v -plan=%s:%s\n%s",
		s.name, strings.Join(out.problems, "\n  "), s.name, planText(plan), strings.Join(out.trace, "\n"))
}

// TestPlan plays what -plan says, or every scenario without any crash.
func TestPlan(t *testing.T) {
	t.Parallel()
	require.Daily(t)
	name, text, _ := strings.Cut(*onePlan, ":")
	for _, s := range scenarios() {
		if name != "" && name != s.name {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var plan []point
			if text != "" {
				var err error
				if plan, err = parsePlan(text); err != nil {
					t.Fatal(err)
				}
			}
			out := simulate(t, s, whole, plan...)
			report(t, s, plan, out)
			t.Logf("%s: boundaries of each process: %v", s.name, out.boundaries)
		})
	}
}

// TestSingles ends the first process at the boundaries of every scenario: of the
// solved one at every second, of the others at every sixteenth, in ways that take turns
// (a sixth of that where the long tests do not run);
// with -every at each in all ways.
func TestSingles(t *testing.T) {
	t.Parallel()
	require.Daily(t)
	for i, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			n := simulate(t, s, whole).boundaries[0]
			var played, crashed atomic.Int32
			t.Cleanup(func() {
				t.Logf("%s: %d boundaries; ended at %d points, of which %d were met", s.name, n, played.Load(), crashed.Load())
			})
			for k := 1; k <= n; k++ {
				for _, how := range waysAt(i, k) {
					plan := []point{{n: k, how: how}}
					t.Run(fmt.Sprint(plan[0]), func(t *testing.T) {
						t.Parallel()
						out := simulate(t, s, whole, plan...)
						report(t, s, plan, out)
						played.Add(1)
						crashed.Add(int32(out.crashes))
					})
				}
			}
		})
	}
}

// thin is by how much fewer cases are played than could be.
func thin() int {
	if require.AtLong() {
		return raceThin
	}
	return 6 * raceThin
}

// waysAt is how the process of the ith scenario ends at its kth boundary.
func waysAt(i, k int) []byte {
	ways := []byte{crashAfter, crashBefore, stopAt, stallAt}
	switch {
	case *every:
		return ways
	case i == 0 && k%8 == 0 && require.AtLong():
		return []byte{crashAfter, ways[1+k/8%3]}
	case i == 0 && k%(2*thin()) == 0:
		return ways[:1]
	case i > 0 && (k+i)%(16*thin()) == 0:
		return []byte{ways[(k+i)/16%4]}
	}
	return nil
}
