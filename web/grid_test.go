package web_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

var tag = regexp.MustCompile(`<[^>]*>`)

// gridRows are the rows of the grid as a person who hears the page gets them, by the name of the test and its kind.
func gridRows(t *testing.T, page string) map[string]string {
	t.Helper()
	out := map[string]string{}
	_, table, _ := strings.Cut(page, `<table class="grid">`)
	table, _, _ = strings.Cut(table, "</table>")
	for row := range strings.SplitSeq(table, "<tr>") {
		head, cells, ok := strings.Cut(row, "</th><td")
		if !ok {
			continue
		}
		var words []string
		for cell := range strings.SplitSeq(cells, `class="unseen">`) {
			words = append(words, strings.SplitN(cell, "<", 2)[0])
		}
		out[strings.TrimSpace(tag.ReplaceAllString(head, ""))] = strings.Join(words[1:], "|")
	}
	return out
}

// TestGridOfTests: a test that a candidate changed or brought has its result on the base and with each candidate, and what
// no verdict says is not known.
func TestGridOfTests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runs := w.store.runs[decided]
	runs[0].Verdict.ProofTests, runs[0].Verdict.Proofs = []string{"TestOwn"}, 1
	runs[1].Verdict.FlakyTests, runs[1].Verdict.Flaky = []string{"TestRandom"}, 1
	runs[2].Verdict.StillTests, runs[2].Verdict.Still = []string{"TestCompareNumeric"}, 1
	runs[2].Verdict.NewFailTests, runs[2].Verdict.NewFail = []string{"TestOwn"}, 1
	w.store.solves[0].Decision.Cross = []solve.CrossResult{{Author: 1, Run: 2, Failed: []string{"TestOwn"}}}
	page := w.get("/solves/" + decided)
	got := gridRows(t, page)
	for test, want := range map[string]string{
		"TestCompareNumeric failed before": "fails|passes|passes|fails",
		"TestOwn new, by run 1":            "fails|passes, its own|fails|not known",
		"TestParse passed before":          "passes|passes|passes|fails",
		"TestOwn new, by run 3":            "not there|not known|not known|fails",
	} {
		if got[test] != want {
			t.Errorf("%s: %q, want %q", test, got[test], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d rows: %v", len(got), got)
	}

	// What the lists leave out is not known, and the twin of a patch has its results.
	runs[1].Candidate.SHA256 = runs[0].Candidate.SHA256
	runs[0].Verdict.Broken = 60
	runs[1].Verdict.FlakyTests = []string{"TestParse"}
	got = gridRows(t, w.get("/solves/"+decided))
	if want := "passes|not known|differs from time to time|fails"; got["TestParse passed before"] != want {
		t.Errorf("a list that was cut: %q", got["TestParse passed before"])
	}
	if want := "fails|passes, its own|passes, its own|not known"; got["TestOwn new, by run 1"] != want {
		t.Errorf("a twin: %q", got["TestOwn new, by run 1"])
	}
}

// TestGridIsBounded: many tests and runs are counted, and shown in part.
func TestGridIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runs := w.store.runs[decided]
	for n := range 50 {
		runs[0].Verdict.FixedTests = append(runs[0].Verdict.FixedTests, fmt.Sprintf("Test%02d", n))
	}
	for n := 4; n <= 20; n++ {
		r := runs[1]
		r.N = n
		w.store.runs[decided] = append(w.store.runs[decided], r)
	}
	page := w.get("/solves/" + decided)
	wants(t, page, "And 12 more tests.", "And 4 more runs.")
	if got := gridRows(t, page); len(got) != 40 {
		t.Errorf("%d rows", len(got))
	}
	if strings.Contains(w.get("/solves/"+atWork), "Tests that changed") {
		t.Error("a solve without verdicts has a grid")
	}
}
