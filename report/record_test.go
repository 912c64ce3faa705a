package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

func exported(t interface{ Fatal(...any) }, change func(*solve.Record)) []byte {
	v := sample(solve.StateSolved)
	rec := solve.Record{V: 1, Solve: v.Solve, Runs: v.Runs}
	d := *v.Solve.Decision
	rec.Solve.Decision = &d
	if change != nil {
		change(&rec)
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func explained(t *testing.T, change func(*solve.Record)) (string, bool) {
	t.Helper()
	rec, err := solve.ReadRecord(exported(t, change))
	if err != nil {
		t.Fatal(err)
	}
	return report.Explain(rec)
}

func TestExplainAgrees(t *testing.T) {
	t.Parallel()
	text, same := explained(t, nil)
	if !same {
		t.Error("the record's own decision does not hold")
	}
	golden(t, "testdata/text/explain.txt", text)
}

func TestExplainTellsADifference(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*solve.Record)
		want   string
	}{
		"another champion": {func(r *solve.Record) { r.Solve.Decision.Champion = 1 }, "The record disagrees: Champion: run 1."},
		"none":             {func(r *solve.Record) { r.Solve.Decision.Champion = 0 }, "The record disagrees: No champion"},
		"another ranking":  {func(r *solve.Record) { r.Solve.Decision.Ranking = []int{2, 1} }, "another ranking: run 2, run 1."},
		"changed verdict":  {func(r *solve.Record) { r.Runs[1].Verdict.Fixed = 0 }, "The record disagrees: Champion: run 2."},
		"no decision":      {func(r *solve.Record) { r.Solve.Decision = nil }, "holds no decision"},
	} {
		text, same := explained(t, c.change)
		if same || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v\n%s", name, same, text)
		}
	}
}

// The rule that was in force then is the one that is used now.
func TestExplainUsesTheRecordsRule(t *testing.T) {
	t.Parallel()
	rule := solve.Rule{Order: []string{"latency"}, Models: []string{"small", "large", "fixed"}}
	text, same := explained(t, func(r *solve.Record) {
		d := solve.Reduce(r.Runs, rule)
		r.Solve.Decision = &d
	})
	if !same || !strings.Contains(text, "Champion: run 1.") {
		t.Errorf("%v\n%s", same, text)
	}
	text, same = explained(t, func(r *solve.Record) { r.Runs, r.Solve.Decision = nil, &solve.Decision{} })
	if !same || !strings.Contains(text, "none: there are fewer than two runs") {
		t.Errorf("%v\n%s", same, text)
	}
}

func TestReadRecordRoundTrip(t *testing.T) {
	t.Parallel()
	data := exported(t, nil)
	rec, err := solve.ReadRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(again)); diff != "" {
		t.Error(diff)
	}
}

func TestReadRecordIsStrict(t *testing.T) {
	t.Parallel()
	good := string(exported(t, nil))
	for name, c := range map[string]struct{ data, want string }{
		"empty":           {"", "it is empty"},
		"cut":             {good[:len(good)/2], "ends too early"},
		"syntax":          {"{\n\n x", "line 3: "},
		"type":            {strings.Replace(good, `"n": 1`, `"n": "one"`, 1), "n cannot be a string"},
		"unknown field":   {strings.Replace(good, `"v": 1`, `"v": 1, "extra": 1`, 1), `unknown field "extra"`},
		"two values":      {good + "{}", "more behind"},
		"version":         {strings.Replace(good, `"v": 1`, `"v": 9`, 1), "its version is 9, this program reads 1"},
		"no id":           {string(exported(t, func(r *solve.Record) { r.Solve.ID = "" })), "solve.id is missing"},
		"solve state":     {string(exported(t, func(r *solve.Record) { r.Solve.State = "done" })), `solve.state "done" is not a state`},
		"run state":       {string(exported(t, func(r *solve.Record) { r.Runs[2].State = "won" })), `runs[2].state "won" is not a state`},
		"run twice":       {string(exported(t, func(r *solve.Record) { r.Runs[2].N = 1 })), "runs[2].n is 1, as in a run before it"},
		"run zero":        {string(exported(t, func(r *solve.Record) { r.Runs[0].N = 0 })), "runs[0].n is 0, must be at least 1"},
		"run of another":  {string(exported(t, func(r *solve.Record) { r.Runs[0].Solve = "x" })), `runs[0].solve is "x"`},
		"outcome":         {string(exported(t, func(r *solve.Record) { r.Runs[0].Verdict.Outcome = "ok" })), `runs[0].verdict.outcome "ok"`},
		"champion":        {string(exported(t, func(r *solve.Record) { r.Solve.Decision.Champion = 77 })), "champion is 77, which is no run"},
		"rule":            {string(exported(t, func(r *solve.Record) { r.Solve.Decision.Rule = []string{"beauty"} })), `does not know: "beauty"`},
		"all of them":     {string(exported(t, func(r *solve.Record) { r.Solve.ID, r.Runs[0].N = "", 0 })), "solve.id is missing\nruns[0].n is 0"},
		"not even JSON":   {"<html>", "line 1"},
		"another's array": {"[]", "array"},
	} {
		if _, err := solve.ReadRecord([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add(exported(f, nil))
	f.Add([]byte(`{"v":1,"solve":{"id":"a","state":"queued"},"runs":[{"n":1,"solve":"a","state":"passed"}]}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := solve.ReadRecord(data)
		if err != nil {
			return
		}
		text, same := report.Explain(rec)
		again, sameAgain := report.Explain(rec)
		if text != again || same != sameAgain || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%q", text)
		}
		v := report.View{Solve: rec.Solve, Runs: rec.Runs}
		for name, body := range texts(v) {
			if len(body) > 140_000 {
				t.Errorf("%s has %d bytes", name, len(body))
			}
		}
	})
}
