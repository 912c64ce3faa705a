package judge_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solver/judge"
)

// TestDifferencesLeaveFlakyTestsOut: a test that was flaky anywhere is no difference; one that is gone is.
func TestDifferencesLeaveFlakyTestsOut(t *testing.T) {
	t.Parallel()
	type tests = map[string]judge.Status
	there := tests{"same": judge.Pass, "other": judge.Pass, "gone": judge.Fail, "flaky there": judge.Flaky, "flaky here": judge.Pass, "flaky on the base": judge.Pass}
	here := tests{"same": judge.Pass, "other": judge.Fail, "new": judge.Pass, "flaky there": judge.Fail, "flaky here": judge.Flaky, "flaky on the base": judge.Fail}
	want := []judge.Difference{
		{Test: "gone", There: judge.Fail}, {Test: "new", Here: judge.Pass}, {Test: "other", There: judge.Pass, Here: judge.Fail},
	}
	if diff := cmp.Diff(want, judge.Differences(there, here, tests{"flaky on the base": judge.Flaky})); diff != "" {
		t.Error(diff)
	}
	if got := judge.Differences(nil, nil); got != nil {
		t.Errorf("two reports without tests differ: %v", got)
	}
}

// TestResultsAreBounded: a candidate's tests choose their names and their number.
func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	many := map[string]judge.Status{}
	for n := range 40_000 {
		many[strings.Repeat("x", 1000)+strconv.Itoa(n)] = judge.Pass
	}
	if data, err := (judge.Results{Own: many}).Encode(); data != nil || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
