package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// Champion is the number of the champion's run, 0 if there is none.
func (s Solve) Champion() int {
	if d := s.Record.Solve.Decision; d != nil {
		return d.Champion
	}
	return 0
}

// Candidates are the champion and the one that came next, of those whose results are stored.
func (s Solve) Candidates() []solve.Run {
	var ranking []int
	if d := s.Record.Solve.Decision; d != nil {
		ranking = d.Ranking
	}
	var out []solve.Run
	for _, n := range append([]int{s.Champion()}, ranking...) {
		i := slices.IndexFunc(s.Record.Runs, func(r solve.Run) bool { return r.N == n })
		if i < 0 || len(out) == 2 || slices.ContainsFunc(out, func(r solve.Run) bool { return r.N == n }) {
			continue
		}
		if r := s.Record.Runs[i]; s.has(r) {
			out = append(out, r)
		}
	}
	return out
}

func (s Solve) has(r solve.Run) bool {
	if r.Candidate == nil || r.Verdict == nil {
		return false
	}
	_, patch := s.File(r.Candidate.Artifact)
	_, results := s.File(r.Verdict.Results)
	return patch && results
}

// Outcome is how a candidate's verdict came out here and then.
type Outcome struct {
	Run        int
	Then, Here solve.Outcome
	Reason     string // of the verdict here
	Tests      int    // whose results were compared
	Different  []judge.Difference
}

// Same says whether the verdict and every test came out as they did then.
func (o Outcome) Same() bool { return o.Then == o.Here && len(o.Different) == 0 }

func compare(run solve.Run, was judge.Results, res judge.Result, bases []judge.Report) Outcome {
	o := Outcome{Run: run.N, Then: run.Verdict.Outcome, Here: res.Verdict.Outcome, Reason: res.Verdict.Reason}
	unsteady := []map[string]judge.Status{was.Regression, was.Own, res.Results.Regression, res.Results.Own}
	for _, b := range bases {
		unsteady = append(unsteady, b.Tests)
	}
	o.Tests = len(res.Results.Regression) + len(res.Results.Own)
	o.Different = judge.Differences(was.Regression, res.Results.Regression, unsteady...)
	for _, d := range judge.Differences(was.Own, res.Results.Own, unsteady...) {
		d.Test += " (with its own tests)"
		o.Different = append(o.Different, d)
	}
	return o
}

// shown is how many tests are named.
const shown = 5

// Words names the first of the tests with both results.
func Words(list []judge.Difference) string {
	word := func(s judge.Status) string {
		if s == "" {
			return "none"
		}
		return string(s)
	}
	var out []string
	for _, d := range list[:min(len(list), shown)] {
		out = append(out, fmt.Sprintf("%q (%s then, %s here)", d.Test, word(d.There), word(d.Here)))
	}
	if more := len(list) - shown; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
