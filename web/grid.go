package web

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// maxGridTests and maxGridRuns are how large the grid of tests may be.
	maxGridTests = 40
	maxGridRuns  = 16
)

// grid has a row for each test that a candidate changed or brought, and a column for each judged candidate, the best first.
type grid struct {
	Runs           []pick
	Rows           []gridRow
	More, MoreRuns int // tests and candidates that are not shown
}

// gridRow is a test: its result on the base, then with each candidate.
type gridRow struct {
	Test, Kind string
	Cells      []mark
}

// changedTest is a test of the base, or a new one with the number of the run that brought it: two may use one name.
type changedTest struct {
	kind, author int
	name         string
}

// The kinds of changed tests, in the order of the rows.
const (
	failedBefore = iota
	newProof
	passedBefore
	newFailing
)

func cellPasses() mark  { return mark{"yes", "✓", "passes"} }
func cellFails() mark   { return mark{"no", "✕", "fails"} }
func cellUnknown() mark { return mark{"", "–", "not known"} }

// gridOf makes the grid, nil where no verdict names a test that changed.
func gridOf(v report.View) *grid {
	tests, g := changedTests(v.Runs), &grid{}
	if len(tests) == 0 {
		return nil
	}
	var columns []solve.Run
	for _, r := range solve.Candidates(ordered(v)) {
		if r.Verdict != nil && len(columns) < maxGridRuns {
			columns = append(columns, r)
			champion := v.Solve.Decision != nil && v.Solve.Decision.Champion == r.N
			g.Runs = append(g.Runs, pick{N: r.N, Name: report.RunPageOf(v, r.N).Name, Here: champion})
		} else if r.Verdict != nil {
			g.MoreRuns++
		}
	}
	shown := tests[:min(len(tests), maxGridTests)]
	g.More = len(tests) - len(shown)
	for _, t := range shown {
		row := gridRow{Test: t.name, Kind: t.words(), Cells: []mark{t.onBase()}}
		for _, r := range columns {
			row.Cells = append(row.Cells, t.with(v, r))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// changedTests are what the verdicts name: a test that no candidate made pass is none that changed.
func changedTests(runs []solve.Run) []changedTest {
	var out []changedTest
	add := func(kind, author int, names []string) {
		for _, name := range names {
			out = append(out, changedTest{kind, author, name})
		}
	}
	for _, r := range runs {
		if r.Verdict == nil {
			continue
		}
		add(newProof, r.N, r.Verdict.ProofTests)
		if r.Reproduces() { // its other lists are about the base
			continue
		}
		add(failedBefore, 0, r.Verdict.FixedTests)
		add(passedBefore, 0, r.Verdict.BrokenTests)
		add(newFailing, r.N, r.Verdict.NewFailTests)
	}
	slices.SortFunc(out, func(a, b changedTest) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name), cmp.Compare(a.author, b.author))
	})
	return slices.Compact(out)
}

func (t changedTest) words() string {
	switch t.kind {
	case failedBefore:
		return "failed before"
	case passedBefore:
		return "passed before"
	}
	return fmt.Sprintf("new, by run %d", t.author)
}

func (t changedTest) onBase() mark {
	switch t.kind {
	case passedBefore:
		return cellPasses()
	case newFailing:
		return mark{"", "–", "not there"}
	}
	return cellFails()
}

// with is the result with a candidate. What its verdict says nothing of is not known.
func (t changedTest) with(v report.View, r solve.Run) mark {
	is, has := r.Verdict, func(names []string) bool { return slices.Contains(names, t.name) }
	switch {
	case t.author > 0:
		return t.across(v, r)
	case has(is.FlakyTests):
		return mark{"warn", "~", "differs from time to time"}
	case has(is.FixedTests):
		return cellPasses()
	case has(is.BrokenTests), has(is.StillTests):
		return cellFails()
	case t.kind == passedBefore && is.Kept > 0 && len(is.BrokenTests) == is.Broken && len(is.FlakyTests) == is.Flaky:
		return cellPasses() // all that fail or differ are named, and it is none of them
	}
	return cellUnknown()
}

// across is the result of a new test with a candidate: with its author's, and where the candidates' tests ran on each
// other. What is said of a patch holds for all runs that have it.
func (t changedTest) across(v report.View, r solve.Run) mark {
	same := append(solve.Agreement(v.Runs, r.N), r.N)
	switch {
	case t.kind == newFailing && t.author == r.N:
		return cellFails()
	case t.kind == newFailing:
		return cellUnknown()
	case slices.Contains(same, t.author):
		return mark{"yes", "✓", "passes, its own"}
	case v.Solve.Decision == nil:
		return cellUnknown()
	}
	for _, c := range v.Solve.Decision.Cross {
		switch {
		case c.Author != t.author || !slices.Contains(same, c.Run):
		case slices.Contains(c.Passed, t.name):
			return cellPasses()
		case slices.Contains(c.Failed, t.name):
			return cellFails()
		}
	}
	return cellUnknown()
}
