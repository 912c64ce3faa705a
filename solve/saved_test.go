package solve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yudai-dev/yudai/solve"
)

func TestSaved(t *testing.T) {
	t.Parallel()
	run := func(n int, model string, cost solve.Money, state solve.RunState, needed bool) solve.Run {
		r := solve.Run{N: n, State: state, Attempt: 1, NotNeeded: !needed, Experiment: solve.Experiment{Model: model}}
		if r.Progress.Usage.Cost = cost; cost > 0 {
			r.Progress.Usage.Calls = 1
		}
		return r
	}
	unstarted := func(r solve.Run) solve.Run { r.Attempt = 0; return r }
	old := run(9, "a", 9_000_000, solve.RunPassed, true)
	old.From = &solve.Origin{}
	runs := []solve.Run{
		run(1, "a", 300_000, solve.RunPassed, true), run(2, "a", 100_000, solve.RunEmpty, true), run(3, "b", 800_000, solve.RunFailed, true),
		run(4, "a", 50_000, solve.RunCancelled, false),        // another 150 000
		run(5, "b", 900_000, solve.RunCancelled, false),       // no more than it cost
		unstarted(run(6, "c", 0, solve.RunCancelled, false)),  // 400 000, as all
		unstarted(run(7, "a", 0, solve.RunCancelled, false)),  // 200 000
		run(8, "a", 7_000_000, solve.RunCancelled, true), old, // neither counts
		run(10, "a", 0, solve.RunError, true), // nor one that asked nobody
	}
	if diff := cmp.Diff(solve.Saved{NotRun: 2, Stopped: 2, Money: 750_000}, solve.SavedBy(runs)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(solve.Saved{NotRun: 1}, solve.SavedBy(runs[5:6])); diff != "" {
		t.Error(diff)
	}
}

// TestRecordOfWavesIsRecomputed: what was not needed changes nothing about the decision.
func TestRecordOfWavesIsRecomputed(t *testing.T) {
	t.Parallel()
	v := waves(solve.StateSolved)
	data, err := json.Marshal(solve.Record{V: solve.RecordVersion, Solve: v.Solve, Runs: v.Runs})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := solve.ReadRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	text, same := solve.Explain(rec)
	if !same || !strings.Contains(text, "not needed") || !strings.Contains(text, "Champion: run 3.") {
		t.Error(text)
	}
}
