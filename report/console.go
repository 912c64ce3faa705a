package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/solve"
)

// Console is the scorecard as plain text for a terminal of that many columns
// (100 if it is not known). Foreign text has no control characters in it.
func Console(v View, width int) string {
	if width <= 0 {
		width = 100
	}
	var b strings.Builder
	say := func(text string) {
		if text != "" {
			b.WriteString(wrap(solve.OneLine(text), width) + "\n")
		}
	}
	say(v.headline() + " " + plainReason(v))
	say(capital(v.plainShown()))
	for _, note := range slices.Concat(v.Solve.Plan.Notes, v.Solve.Base.Notes) {
		say("Note: " + sentence(note))
	}
	if len(v.Runs) > 0 {
		b.WriteString("\n" + plainTable(v, v.runs(), width) + "\n")
		say("Cost of all runs: " + v.price(v.own()...) + v.andSandboxes())
		for _, text := range []string{v.noLimit(solve.OneLine), v.savedSentence(), v.plainReproduction()} {
			say(text)
		}
	}
	best, ok := v.champion()
	b.WriteString("\n")
	if !ok {
		for _, r := range v.runs() {
			if why := v.whyNot(r); why != "" && !v.neverStarted(r.N) {
				say(fmt.Sprintf("- run %d, %s: %s", r.N, v.stateText(r), solve.Clip(why, 300)))
			}
		}
		return strings.TrimRight(b.String(), "\n") + "\n"
	}
	say(fmt.Sprintf("Why run %d:", best.N))
	for _, a := range v.whyChain() {
		say(fmt.Sprintf("- against run %d: %s", a.Run, a.Text))
	}
	if v.Solve.Decision.RunnerUp() == 0 {
		say("- there was no other run")
	}
	if t := best.Verdict; t != nil && t.Flaky > 0 {
		say("- left out: " + solve.Count(t.Flaky, "flaky test") + ": " + solve.Clip(solve.ListWords(t.FlakyTests, 3), 200))
	}
	if same := solve.Agreement(v.Runs, best.N); len(same) > 0 {
		say("- the same patch came from " + runList(same))
	}
	return b.String()
}

func plainReason(v View) string {
	switch s := v.Solve; {
	case s.State == solve.StateCancelled && s.CancelBy != "":
		return "Stopped by " + solve.OneLine(s.CancelBy) + "."
	case s.State.Final() && s.State != solve.StateSolved:
		return sentence(solve.Clip(solve.OneLine(s.Reason), 500))
	default:
		return ""
	}
}

// plainTable aligns the columns, without the one for reasons, which needs room
// of its own. On a narrow terminal the columns go that people miss least.
func plainTable(v View, runs []solve.Run, width int) string {
	names := v.columns()
	rows := [][]string{names[:len(names)-1]}
	for _, r := range runs {
		cells := v.cells(r)
		for i := range cells {
			cells[i] = solve.Clip(solve.OneLine(cells[i]), 24)
		}
		if t := r.Verdict; t != nil && t.Fixed+t.Kept+t.Broken > 0 {
			cells[slices.Index(names, "Tests")] = fmt.Sprintf("%d fixed, %d broken", t.Fixed, t.Broken)
		}
		rows = append(rows, cells[:len(cells)-1])
	}
	for _, name := range []string{"Strategy", "Files", "Temp", "Repeat", "Wave", "Cost", "Latency", "Agent"} {
		if i := slices.Index(rows[0], name); i >= 0 && tableWidth(rows) > width {
			for n := range rows {
				rows[n] = slices.Delete(slices.Clone(rows[n]), i, i+1)
			}
		}
	}
	var b strings.Builder
	widths := columnWidths(rows)
	for _, cells := range rows {
		var line strings.Builder
		for i, c := range cells {
			line.WriteString(c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
		}
		b.WriteString(solve.Clip(strings.TrimRight(line.String(), " "), width) + "\n")
	}
	return b.String()
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	return widths
}

func tableWidth(rows [][]string) int {
	sum := -2
	for _, w := range columnWidths(rows) {
		sum += w + 2
	}
	return sum
}

// wrap breaks a line at spaces and indents what follows by two.
func wrap(s string, width int) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+n > width:
			b.WriteString("\n  ")
			used = 2
		default:
			b.WriteString(" ")
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
