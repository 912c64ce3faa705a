package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Explain decides again from a record and prints the rule, the ranking and
// every comparison. same says that the record's own champion and ranking agree;
// a record without a decision agrees with nothing.
func Explain(rec solve.Record) (text string, same bool) {
	var b strings.Builder
	s := rec.Solve
	fmt.Fprintf(&b, "Solve %s of %s, issue %d: %s\n", solve.OneLine(string(s.ID)), solve.OneLine(s.Repo.String()),
		s.Issue.Number, solve.Clip(solve.OneLine(s.Issue.Title), 100))

	stored := rec.Solve.Decision
	d := solve.Decide(rec.Solve, rec.Runs, rec.Rule())

	b.WriteString("\nRule:\n")
	for i, words := range d.Rule {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, words)
	}
	b.WriteString("\nRanking:\n")
	view := View{Solve: rec.Solve, Runs: rec.Runs}
	view.Solve.Decision = &d
	var order []solve.Run
	for _, n := range d.Ranking {
		r, _ := view.run(n)
		order = append(order, r)
	}
	b.WriteString(plainTable(view, order, 160))
	b.WriteString("\nComparisons:\n")
	for _, c := range d.Comparisons {
		b.WriteString("  " + c.Text + "\n")
	}
	if len(d.Comparisons) == 0 {
		b.WriteString("  none: there are fewer than two runs\n")
	}
	b.WriteString("\n" + championText(d.Champion) + "\n")
	if d.Withheld != 0 {
		fmt.Fprintf(&b, "Run %d would be it, but it is unproven (solver.unproven is comment).\n", d.Withheld)
	}
	b.WriteString(view.plainGrade())
	verdict, same := agree(stored, d)
	b.WriteString(verdict + "\n")
	return b.String(), same
}

// agree compares the stored decision with the recomputed one.
func agree(stored *solve.Decision, d solve.Decision) (text string, same bool) {
	switch {
	case stored == nil:
		return "The record holds no decision to compare with.", false
	case stored.Champion != d.Champion:
		return "The record disagrees: " + championText(stored.Champion), false
	case !slices.Equal(stored.Ranking, d.Ranking):
		return fmt.Sprintf("The record has the same champion but another ranking: %s.", runList(stored.Ranking)), false
	default:
		return "The record says the same.", true
	}
}

func championText(n int) string {
	if n == 0 {
		return "No champion."
	}
	return fmt.Sprintf("Champion: run %d.", n)
}
