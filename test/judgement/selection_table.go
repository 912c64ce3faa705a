package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// selectionTables are the results on a selection set, as Markdown.
func selectionTables(issues []issue, scores []score) string {
	var b strings.Builder
	candidates := 0
	for _, is := range issues {
		candidates += len(is.Candidates)
	}
	repos, count := repositories(issues)
	fmt.Fprintf(&b, "%d issues of %d repositories, %d candidates.\n\n", len(issues), len(repos), candidates)
	b.WriteString("| Rule | Right | 95 % | Regret to the oracle | Of the gap from chance to oracle | " +
		"More than smallest, 95 % | Supported | Unproven |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, s := range scores {
		fmt.Fprintf(&b, "| %s | %.1f %% | %.1f to %.1f | %.1f | %.0f %% | %+.1f, %+.1f to %+.1f | %s | %s |\n",
			s.name, s.precision, s.low, s.high, s.regret, s.closed, s.over[0], s.over[1], s.over[2], s.grade(solve.Supported), s.grade(solve.Unproven))
	}
	b.WriteString("\n| Rule |")
	for _, r := range repos {
		fmt.Fprintf(&b, " %s, %d |", path.Base(r), count[r])
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(repos)) + "\n")
	for _, s := range scores {
		fmt.Fprintf(&b, "| %s |", s.name)
		for _, r := range repos {
			fmt.Fprintf(&b, " %.1f |", s.byRepository[r])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// grade is the precision of a grade, "" if no champion had it.
func (s score) grade(g solve.Grade) string {
	if s.byGrade[g].all == 0 {
		return ""
	}
	return s.byGrade[g].String()
}
