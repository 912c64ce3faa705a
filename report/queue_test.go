package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestPlaceInTexts: what people read while a solve waits, and that it is not there before.
func TestPlaceInTexts(t *testing.T) {
	t.Parallel()
	for place, want := range map[int]string{
		0: "in the queue.", 1: "1st of 30", 2: "2nd of 30", 3: "3rd of 30", 4: "4th of 30", 11: "11th of 30", 12: "12th of 30", 13: "13th of 30",
		21: "21st of 30", 22: "22nd of 30", 111: "111th of 111", 113: "113th of 113", 121: "121st of 121",
	} {
		v := report.View{Solve: solve.Solve{ID: "s", State: solve.StateQueued, Place: place, Queue: 30}}
		for _, text := range []string{report.ProgressComment(v), report.StatusText(v)} {
			if !strings.Contains(text, "Waiting in the queue") || !strings.Contains(text, want) {
				t.Errorf("place %d: %q", place, text)
			}
		}
		v.Solve.State = solve.StatePreparing
		if text := report.ProgressComment(v); strings.Contains(text, "queue") {
			t.Errorf("claimed and still waiting: %q", text)
		}
	}
}
