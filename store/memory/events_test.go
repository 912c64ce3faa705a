package memory_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/storetest"
)

// TestEventsOfTheSuite: the suite sends every event of the tables but those that follow from others.
func TestEventsOfTheSuite(t *testing.T) {
	t.Parallel()
	want, got := map[solve.EventName]bool{}, map[solve.EventName]bool{}
	for _, step := range solve.SolveSteps() {
		want[step.On] = true
	}
	for _, step := range solve.RunSteps() {
		want[step.On] = true
	}
	for _, follows := range []solve.EventName{solve.EventAdmitted, solve.EventRunsEnded, solve.EventWave} {
		delete(want, follows)
	}
	for _, ev := range storetest.Events() {
		got[solve.NameOf(ev)] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("events of the tables and of the suite (-want +got):\n%s", diff)
	}
}
