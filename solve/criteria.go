package solve

import (
	"cmp"
	"fmt"
	"slices"
)

// criterion is one way to tell two runs apart. compare is negative if a is
// better; it must be a weak order (what is equal to the same is equal), or the
// ranking would depend on the order of arrival.
type criterion struct {
	name    string
	words   string
	value   func(r *Run) string // for people
	compare func(a, b *Run) int
}

// CriterionNames are the names a configured order may use, in the built-in order.
func CriterionNames() []string {
	var out []string
	for _, c := range builtin(nil) {
		out = append(out, c.name)
	}
	return out
}

// builtin is every criterion in the built-in order; docs/decisions/0001-order-of-the-reducer.md says why.
func builtin(models []string) []criterion {
	return []criterion{
		{
			"passed", "tests pass, none broken, and the patch may be published",
			gateText, compareCount(gate),
		},
		{
			"keeps_tests", "does not weaken existing tests",
			weakensText, compareCount(func(r *Run) int { return min(weakens(r), 1) }),
		},
		{
			"fixes", "fixes more of the tests that fail on the base",
			func(r *Run) string { return Count(fixes(r), "test") + " fixed" },
			func(a, b *Run) int { return cmp.Compare(fixes(b), fixes(a)) },
		},
		{
			"files", "fewest files changed",
			func(r *Run) string { return Count(files(r), "file") }, compareCount(files),
		},
		{
			"size", "smallest diff, lines added and deleted",
			func(r *Run) string { return Count(size(r), "line") }, compareCount(size),
		},
		{
			"latency", "lowest latency of the agent's work",
			func(r *Run) string { return FormatDuration(r.AgentTime) },
			func(a, b *Run) int { return cmp.Compare(a.AgentTime, b.AgentTime) },
		},
		{
			"temperature", "lower temperature, the more stable model",
			func(r *Run) string { return TemperatureText(r.Experiment.Temperature) }, compareTemp,
		},
		{
			"model", "configured order of models",
			func(r *Run) string { return Clip(OneLine(r.Experiment.Model), 60) },
			compareCount(func(r *Run) int { return place(models, r.Experiment.Model) }),
		},
		{
			"run", "lower run number",
			runText, compareCount(func(r *Run) int { return r.N }),
		},
	}
}

// criteria are those of the rule, with the fixed first and last.
func (r Rule) criteria() []criterion {
	all := builtin(r.Models)
	if len(r.Order) == 0 {
		return all
	}
	first, last := all[0], all[len(all)-1]
	out := []criterion{first}
	for _, name := range distinct(r.Order) {
		i := slices.IndexFunc(all, func(c criterion) bool { return c.name == name })
		if i > 0 && i < len(all)-1 {
			out = append(out, all[i])
		}
	}
	return append(out, last)
}

// ruleOf finds the rule that a stored decision's words describe.
func ruleOf(words, models []string) (Rule, error) {
	all := builtin(nil)
	var names []string
	for _, w := range words {
		i := slices.IndexFunc(all, func(c criterion) bool { return c.words == w })
		if i < 0 {
			return Rule{}, fmt.Errorf("solve.decision.rule has a criterion that this program does not know: %q", Clip(w, 80))
		}
		names = append(names, all[i].name)
	}
	return Rule{Order: names, Models: models}, nil
}

// weakens counts the test files that the patch weakens.
func weakens(r *Run) int {
	if r.Verdict == nil {
		return 0
	}
	return len(r.Verdict.Weakens)
}

func weakensText(r *Run) string {
	if weakens(r) == 0 {
		return "tests kept"
	}
	return Count(weakens(r), "test file") + " weakened"
}

func fixes(r *Run) int {
	if r.Verdict == nil {
		return 0
	}
	return r.Verdict.Fixed
}

func files(r *Run) int {
	if r.Candidate == nil {
		return 0
	}
	return len(r.Candidate.Files)
}

func size(r *Run) int {
	if r.Candidate == nil {
		return 0
	}
	return r.Candidate.Size()
}

// compareTemp puts a model that takes no temperature first: its provider fixes
// the sampling, so there is no dial by which this answer was a lucky draw.
func compareTemp(a, b *Run) int {
	x, y := a.Experiment.Temperature, b.Experiment.Temperature
	switch {
	case x == y:
		return 0
	case x == nil:
		return -1
	case y == nil:
		return 1
	default:
		return cmp.Compare(*x, *y)
	}
}

// place is where a model stands in the configured order; unknown ones share the last place.
func place(models []string, model string) int {
	if i := slices.Index(models, model); i >= 0 {
		return i
	}
	return len(models)
}

// runText is the number of a run, and which repeat of its experiment it is.
func runText(r *Run) string {
	if r.Experiment.Repeat > 1 {
		return fmt.Sprintf("run %d, repeat %d", r.N, r.Experiment.Repeat)
	}
	return fmt.Sprintf("run %d", r.N)
}

// gateText says in a few words whether a run can win, or why not.
func gateText(r *Run) string {
	switch {
	case eligible(r):
		return "passed"
	case r.State == RunPassed && r.Candidate != nil && r.Candidate.Refused != "":
		return "passed, but refused: " + Clip(OneLine(r.Candidate.Refused), 120)
	case r.State == RunFailed && r.Verdict != nil && r.Verdict.Broken > 0:
		return "failed, " + Count(r.Verdict.Broken, "test") + " broken"
	default:
		return r.State.Words()
	}
}

// CriterionText is the criterion of a comparison in words, as the decision's rule has it.
func (d Decision) CriterionText(c Comparison) string {
	for _, k := range builtin(nil) {
		if k.name == c.Criterion && slices.Contains(d.Rule, k.words) {
			return k.words
		}
	}
	return c.Criterion
}
