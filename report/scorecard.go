package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// testsText is a verdict in words: the counts of tests if there are any, else the outcome.
func testsText(r solve.Run) string {
	v := r.Verdict
	if v == nil || r.Candidate != nil && r.Candidate.Refused != "" {
		return "did not run"
	}
	var parts []string
	add := func(n int, word string, always bool) {
		if n > 0 || always {
			parts = append(parts, strconv.Itoa(n)+" "+word)
		}
	}
	if v.Fixed+v.Kept+v.Broken+v.Still+v.NewPass+v.NewFail+v.Flaky == 0 {
		out := fmt.Sprintf("%s, exit code %d", outcomeText(v.Outcome), v.Counts.Exit)
		if v.Counts.Flaky > 0 {
			out += " when repeated"
		}
		return out
	}
	add(v.Fixed, "fixed", true)
	add(v.Kept, "kept", true)
	add(v.Broken, "broken", true)
	add(v.Still, "still failing", false)
	add(v.NewPass, "new", false)
	add(v.NewFail, "new failing", false)
	add(v.Flaky, "flaky", false)
	return strings.Join(parts, ", ")
}

// flakyText names the tests that were left out of a verdict, "" if none were.
func flakyText(v *solve.Verdict) string {
	if v == nil || v.Flaky == 0 {
		return ""
	}
	var names []string
	for _, name := range v.FlakyTests[:min(len(v.FlakyTests), 3)] {
		names = append(names, codeCell(solve.Clip(name, 80)))
	}
	out := solve.Count(v.Flaky, "flaky test") + ": " + strings.Join(names, ", ")
	if rest := v.Flaky - len(names); rest > 0 {
		out += fmt.Sprintf(" and %d more", rest)
	}
	return out
}

func outcomeText(o solve.Outcome) string {
	if o == solve.NoVerdict {
		return "no verdict"
	}
	return string(o)
}

// stateText is a run's state as people read it in tables.
func (v View) stateText(r solve.Run) string {
	d := v.Solve.Decision
	switch {
	case d != nil && d.Champion == r.N && r.N != 0:
		return "champion"
	case r.State == solve.RunPassed && r.Candidate != nil && r.Candidate.Refused != "":
		return "refused"
	case r.From != nil:
		return r.Words() + ", carried over"
	default:
		return r.Words()
	}
}

// whyNot says why a run is not the champion, "" while that is open. The text is unsafe.
func (v View) whyNot(r solve.Run) string {
	d := v.Solve.Decision
	switch {
	case d != nil && d.Champion == r.N && r.N != 0, !r.State.Final():
		return ""
	case r.Candidate != nil && r.Candidate.Refused != "":
		return r.Candidate.Refused
	case d != nil && d.Withheld == r.N:
		return "unproven"
	case r.State == solve.RunPassed && d != nil && d.PickedBy != "":
		return fmt.Sprintf("run %d was picked", d.Champion)
	case r.State == solve.RunPassed && d != nil:
		if c, ok := d.Against(r.N); ok {
			return fmt.Sprintf("%s: %s against %s", c.Criterion, c.Right, c.Left)
		}
		return ""
	case (r.State == solve.RunFailed || r.State == solve.RunNoVerdict) && r.Verdict != nil && r.Verdict.Reason != "":
		return r.Verdict.Reason
	case r.State != solve.RunPassed:
		return strings.TrimPrefix(r.Reason, solve.NotNeededPrefix)
	default:
		return ""
	}
}

// experimentText names what made a run: model, temperature, and which repeat it was.
func experimentText(x solve.Experiment) string {
	out := codeSpan(x.Model)
	if x.Temperature != nil {
		out += " at temperature " + solve.TemperatureText(x.Temperature)
	}
	if x.Repeat > 1 {
		out += fmt.Sprintf(", repeat %d", x.Repeat)
	}
	return out
}

// facts is the champion's scorecard in Markdown.
func (v View) facts(r solve.Run) string {
	t := newFacts("Champion", fmt.Sprintf("run %d of %d", r.N, max(len(v.runs()), r.N)))
	t.add("Tests", testsText(r))
	t.add("Left out", flakyText(r.Verdict))
	if c := r.Candidate; c != nil {
		t.add("Change", fmt.Sprintf("%s, %s added, %s deleted",
			solve.Count(len(c.Files), "file"), solve.Count(c.Added, "line"), solve.Count(c.Deleted, "line")))
	}
	t.add("Latency", solve.FormatDuration(r.AgentTime))
	v.experimentFacts(t, r)
	if n := r.Experiment.MaxEdits; n > 0 {
		t.add("Edits", fmt.Sprintf("%d of at most %d", r.Progress.Edits, n))
	}
	if r.From != nil {
		t.add("Cost", v.price(r)+", paid in an earlier solve")
	} else {
		t.add("Cost", fmt.Sprintf("%s of %s for all runs%s", v.price(r), v.price(v.own()...), estimateText(r.Progress.Usage)))
	}
	if all := v.sandboxCost(); all > 0 && r.From == nil {
		t.add("Sandboxes", fmt.Sprintf("%s of %s for all runs and the base%s", r.SandboxCost(), all, onDrivers(r.SandboxUses)))
	}
	t.add("Limits of money", cell(v.noLimit(codeSpan)))
	t.add("Saved", v.saved())
	t.add("Test command", codeCell(v.Solve.Base.Test.ForPeople()))
	t.add("Base", cell(v.baseText()))
	return t.String()
}

// experimentFacts adds what was tried; the repeat and the wave only where there are several.
func (v View) experimentFacts(t *factTable, r solve.Run) {
	t.add("Model", codeCell(r.Experiment.Model))
	t.add("Temperature", solve.TemperatureText(r.Experiment.Temperature))
	t.add("Strategy", codeCell(r.Experiment.Strategy))
	t.add("Agent", codeCell(r.Experiment.Agent))
	if v.repeated() {
		t.add("Repeat", strconv.Itoa(r.Experiment.Repeat))
	}
	if v.severalWaves() {
		t.add("Wave", fmt.Sprintf("%d of %d", r.Experiment.Wave, v.Solve.Plan.Waves()))
	}
}

// factTable is a table of names and values, in Markdown.
type factTable struct{ rows strings.Builder }

// newFacts begins a table with its head.
func newFacts(name, value string) *factTable {
	t := &factTable{}
	t.add(name, value)
	t.add("---", "---")
	return t
}

// add adds a row, unless there is no value.
func (t *factTable) add(name, value string) {
	if value != "" {
		row(&t.rows, []string{name, value})
	}
}

// String is the table.
func (t *factTable) String() string { return t.rows.String() }

// onDrivers names the drivers of sandboxes: ", on e2b and local"; "" for none.
func onDrivers(uses []solve.SandboxUse) string {
	var names []string
	for _, s := range uses {
		if name := codeSpan(s.Driver); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", on " + strings.Join(names, " and ")
}

func (v View) baseText() string {
	base := v.Solve.Base
	out := codeSpan(base.Branch)
	if v.Solve.Revision() {
		out = codeSpan(v.Solve.Branch)
	}
	if base.SHA != "" {
		out += " at " + codeSpan(base.SHA[:min(len(base.SHA), 12)])
	}
	return out
}

// why explains the decision: the champion against the runner-up, and a line for each other run.
func (v View) why() string { return v.whyAgainst(len(v.Runs)) }

// whyAgainst explains the decision with a line for each of the first runs of the ranking, the champion counted.
func (v View) whyAgainst(first int) string {
	d := v.Solve.Decision
	best, ok := v.champion()
	if d == nil || !ok {
		return ""
	}
	var b strings.Builder
	if d.PickedBy != "" {
		b.WriteString(v.picked(best) + "\n\n")
		return b.String()
	}
	fmt.Fprintf(&b, "Run %d (%s) is the champion. The first criterion of the rule in which two runs differ decides "+
		"between them.\n", best.N, experimentText(best.Experiment))
	if d.RunnerUp() == 0 {
		b.WriteString("\nThere was no other run.\n")
	}
	for i, n := range d.Ranking[:min(first, len(d.Ranking))] {
		c, known := d.Against(n)
		if !known || v.neverStarted(n) {
			continue
		}
		name := fmt.Sprintf("Against run %d", n)
		if i == 1 {
			name = fmt.Sprintf("**Against run %d, the runner-up**", n)
		}
		fmt.Fprintf(&b, "\n- %s: %s", name, sentence(Sanitize(v.against(c))))
	}
	b.WriteString("\n")
	if same := solve.Agreement(v.Runs, best.N); len(same) > 0 {
		fmt.Fprintf(&b, "\nAgreement: %s produced the same patch, byte for byte (%s).\n", solve.Count(len(same), "other run"), runList(same))
	}
	b.WriteString("\n" + v.reproduction() + "\n")
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// picked says who chose a champion that the rule did not, and what the rule says of the two.
func (v View) picked(best solve.Run) string {
	d := v.Solve.Decision
	text := fmt.Sprintf("Run %d (%s) is the champion because %s picked it.", best.N, experimentText(best.Experiment), codeSpan(d.PickedBy))
	if d.First == best.N {
		return text + " The rule chooses it, too."
	}
	for _, c := range d.Comparisons {
		if c.Winner == d.First && c.Loser == best.N {
			return text + fmt.Sprintf(" By the rule run %d ranks before it: %s", d.First, sentence(Sanitize(v.against(c))))
		}
	}
	return text
}

// against says, in unsafe text, why the champion ranks before another
// run: what became of a run that could not win, else the criterion and both values.
func (v View) against(c solve.Comparison) string {
	loser, _ := v.run(c.Loser)
	if !solve.Eligible(loser) {
		if why := v.whyNot(loser); why != "" {
			return v.stateText(loser) + ": " + solve.Clip(why, 300)
		}
		return v.stateText(loser)
	}
	return fmt.Sprintf("%s: %s against %s", v.Solve.Decision.CriterionText(c), solve.Clip(c.Left, 160), solve.Clip(c.Right, 160))
}

// ruleText lists the rule and how anybody can recompute the decision.
func (v View) ruleText() string {
	d := v.Solve.Decision
	if d == nil {
		return ""
	}
	var b strings.Builder
	for i, words := range d.Rule {
		fmt.Fprintf(&b, "%d. %s\n", i+1, Sanitize(words))
	}
	b.WriteString("\nExport the solve's record and run `yudai reduce --explain FILE`: it decides again from the record " +
		"and prints every comparison.")
	return folded("The rule, and how to recompute the decision", b.String())
}

// folded hides blocks of Markdown behind a line that opens them.
func folded(summary string, blocks ...string) string {
	return "<details>\n<summary>" + summary + "</summary>\n\n" + paragraphs(blocks...) + "\n\n</details>\n"
}

func runList(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, "run "+strconv.Itoa(n))
	}
	return strings.Join(words, ", ")
}

// codeList is a list of at most n names as code spans.
func codeList(names []string, n, total int) string {
	var b strings.Builder
	for _, name := range names[:min(n, len(names))] {
		b.WriteString("- " + codeSpan(name) + "\n")
	}
	if rest := max(total, len(names)) - min(n, len(names)); rest > 0 {
		fmt.Fprintf(&b, "- and %d more\n", rest)
	}
	return b.String()
}

// estimateText says how many calls are estimated, if any.
func estimateText(u solve.Usage) string {
	if u.Estimated == 0 {
		return ""
	}
	return ", " + solve.Count(u.Estimated, "call") + " estimated"
}
