package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

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
	text, same := report.Explain(rec)
	if !same || !strings.Contains(text, "not needed") || !strings.Contains(text, "Champion: run 3.") {
		t.Error(text)
	}
}
