package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// waiting is the running sample with a run whose model server fails, one that waits for its sandbox, and one for a place.
func waiting() report.View {
	v := sample(solve.StateRunning)
	v.Runs[2].State, v.Runs[2].Verdict, v.Runs[2].Candidate, v.Runs[2].AgentTime = solve.RunDispatched, nil, nil, 0
	v.Runs[2].Progress = solve.Progress{}
	v.Runs[3].Progress.Waiting = "model large: the provider cannot be reached (connection refused); check base_url and the network; " +
		"try 3 of 8 failed, the next is in 4s"
	return v
}

// TestTextsTellWhatARunWaitsFor: for its model server, which says the setting to look at, for its sandbox, for a place.
func TestTextsTellWhatARunWaitsFor(t *testing.T) {
	t.Parallel()
	all := texts(waiting())
	for _, name := range []string{"progress", "check", "run-3", "run-4"} {
		golden(t, "testdata/text/waiting-"+name+".md", all[name])
	}
	for n, want := range map[int]string{
		1: "", 3: "waits for its sandbox", 4: "waits for its model server (model large: the provider cannot be reached (connection refused); " +
			"check base_url and the network; try 3 of 8 failed, the next is in 4s)", 5: "",
	} {
		if got := report.Doing(waiting().Runs[n-1]); got != want {
			t.Errorf("run %d: %q, want %q", n, got, want)
		}
	}
}

// TestWorkIsTold: the progress comment and the check runs say the steps of each run, how long it works, its last action, what all
// cost so far, and when that was so. What no longer is so is not told.
func TestWorkIsTold(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateRunning)
	for name, text := range map[string]string{"progress": report.ProgressComment(v), "check": report.CheckOf(v).Summary} {
		for _, want := range []string{"| Steps |", "- Run 4, working, step 9 of 50. Last action: `$ go test ./... | tail -20`\n", "| working | 9 |  |  |  | 1m 7s |",
			"- Waiting for a place: 1 run\n", "Cost so far: $3.43.", "As of 00:05:50 UTC, 4m 10s after the start."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
	c := report.RunCheckOf(v, 4)
	if c.Title != "working: step 9 of 50, 1m 7s" || !strings.Contains(c.Summary, "| Last action | `$ go test ./... \\| tail -20` |") {
		t.Errorf("%s\n%s", c.Title, c.Summary)
	}
	v.Runs[3].Progress.Last = strings.Repeat("long ", 100)
	if n := len(report.Doing(v.Runs[3])); n > 4*solve.MaxAction {
		t.Errorf("a last action of %d bytes", n)
	}
	v = sample(solve.StateSolved)
	v.Now = time.Unix(1000, 0)
	v.Runs[3].Progress.Last = "$ make"
	for name, text := range texts(v) {
		if strings.Contains(text, "As of") || strings.Contains(text, "$ make") || strings.Contains(text, "Steps |") {
			t.Errorf("%s of an ended solve tells of work:\n%s", name, text)
		}
	}
}
