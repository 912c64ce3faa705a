package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// flaky is a solved solve in which tests were left out.
func flaky() report.View {
	v := sample(solve.StateSolved)
	v.Solve.Base.Report.Flaky = 2
	champion := v.Runs[v.Solve.Decision.Champion-1].Verdict
	champion.Flaky, champion.FlakyTests = 4, []string{"shop.TestClock", "shop.Test|Sleep", "shop.TestNet", "shop.TestOrder"}
	return v
}

func TestFlakyTestsAreShown(t *testing.T) {
	t.Parallel()
	v := flaky()
	n := v.Solve.Decision.Champion
	const row = "| Left out | 4 flaky tests: `shop.TestClock`, `shop.Test\\|Sleep`, `shop.TestNet` and 1 more |"
	pull := report.PullBody(v)
	for what, c := range map[string]struct{ text, want string }{
		"progress":  {report.ProgressComment(v), "41 pass, 1 fail, 2 skipped, 2 flaky (left out)."},
		"table":     {report.ProgressComment(v), "| 1 fixed, 41 kept, 0 broken, 4 flaky |"},
		"pull":      {pull, row},
		"check":     {report.CheckOf(v).Text, row},
		"terminal":  {report.Console(v, 200), "- left out: 4 flaky tests: shop.TestClock,"},
		"run check": {report.RunCheckOf(v, n).Text, "### Flaky tests, left out\n\n- `shop.TestClock`\n"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s does not say %q:\n%s", what, c.want, c.text)
		}
	}

	v.Runs[n-1].Verdict = &solve.Verdict{Outcome: solve.Passed, Counts: solve.Counts{Flaky: 1}}
	v.Solve.Base.Report = solve.Counts{Flaky: 1}
	text := report.ProgressComment(v)
	for _, want := range []string{"passed, exit code 0 when repeated", ": they fail at random."} {
		if !strings.Contains(text, want) {
			t.Errorf("by exit code, nothing says %q:\n%s", want, text)
		}
	}
}

// A record with flaky tests explains itself, and one without is written as before they were known.
func TestFlakyTestsInTheRecord(t *testing.T) {
	t.Parallel()
	v := flaky()
	data, err := json.Marshal(solve.Record{V: solve.RecordVersion, Solve: v.Solve, Runs: v.Runs})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := solve.ReadRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	if text, same := report.Explain(rec); !same || rec.Runs[v.Solve.Decision.Champion-1].Verdict.Flaky != 4 {
		t.Errorf("the record with flaky tests is explained as another one:\n%s", text)
	}
	v = sample(solve.StateSolved)
	data, err = json.Marshal(solve.Record{V: solve.RecordVersion, Solve: v.Solve, Runs: v.Runs})
	if err != nil || strings.Contains(string(data), "flaky") {
		t.Errorf("a record without flaky tests names them: %v\n%s", err, data)
	}
}
