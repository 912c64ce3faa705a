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

// CriterionNames are the names that a configured order may use.
func CriterionNames() []string {
	var out []string
	for _, c := range criteria(evidence{}, nil) {
		out = append(out, c.name)
	}
	return out
}

// criteria are all there are; ev is of the runs that are compared, and models the configured order.
func criteria(ev evidence, models []string) []criterion {
	return slices.Concat(verdictCriteria(), evidenceCriteria(ev), tieCriteria(ev, models))
}

// verdictCriteria ask what the repository's tests say.
func verdictCriteria() []criterion {
	return []criterion{
		{
			"passed", "tests pass, none broken, and the patch may be published",
			gateText, compareCount(gate),
		},
		{
			"code", "changes more than tests, documents, comments and white space",
			noCodeText, compareCount(noCode),
		},
		{
			"keeps_tests", "does not weaken existing tests",
			weakensText, compareCount(func(r *Run) int { return min(weakens(r), 1) }),
		},
		{
			"fixes", "fixes more of the tests that fail on the base",
			func(r *Run) string { return Count(fixes(r), "test") + " fixed" }, compareMore(fixes),
		},
		{
			"steady", "makes fewer tests fail at random",
			func(r *Run) string { return Count(unsteady(r), "test") + " unsteady" }, compareCount(unsteady),
		},
	}
}

// evidenceCriteria ask what the candidates say about each other.
func evidenceCriteria(ev evidence) []criterion {
	return []criterion{
		{
			"cross", "more models agree on more of the candidates' new tests",
			func(r *Run) string {
				return Count(ev.crossed[r.N].models, "model") + ", " + Count(ev.crossed[r.N].tests, "test")
			},
			compareMore(func(r *Run) int { return ev.crossed[r.N].value() }),
		},
		{
			"proof", "its own tests fail without the change",
			proofText, compareMore(proof),
		},
		{
			"record", "its model was right more often in this repository, by a fifth or more",
			recordText, compareMore(record),
		},
		{
			"agreement", "where no test shows the fix: shares more changed lines with candidates of other models",
			func(r *Run) string { return Count(ev.agreed[r.N], "line") + " in common" },
			compareMore(func(r *Run) int { return ev.agreed[r.N] }),
		},
		{
			"typical", "where no test shows the fix: size without tests nearest to the middle of all that pass",
			func(r *Run) string { return Count(ev.atypical[r.N], "line") + " away" },
			compareCount(func(r *Run) int { return ev.atypical[r.N] }),
		},
	}
}

// tieCriteria ask what is left where nothing shows which candidate is right.
func tieCriteria(ev evidence, models []string) []criterion {
	return []criterion{
		{
			"files", "fewest files changed",
			func(r *Run) string { return Count(files(r), "file") }, compareCount(files),
		},
		{
			"size", "smallest diff, lines added and deleted",
			func(r *Run) string { return Count(size(r), "line") }, compareCount(size),
		},
		{
			"latency", "lowest latency of the agent's work, by a second or more",
			latencyText, compareCount(func(r *Run) int { return ev.latency[r.N] }),
		},
		{
			"exact_latency", "lowest latency of the agent's work",
			latencyText, func(a, b *Run) int { return cmp.Compare(a.AgentTime, b.AgentTime) },
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

// OrderOf is the order of criteria that a name stands for, nil if there is none of that name.
// docs/decisions/0035-what-decides-between-candidates.md has the reasons and the figures.
func OrderOf(name string) []string {
	switch name {
	case "", RuleEvidence:
		return []string{
			"passed", "code", "keeps_tests", "fixes", "steady", "cross", "proof", "record", "agreement",
			"typical", "files", "size", "latency", "temperature", "model", "run",
		}
	case RuleSmallest:
		return []string{"passed", "keeps_tests", "fixes", "files", "size", "latency", "temperature", "model", "run"}
	}
	return nil
}

// The named orders: by what shows that a candidate is right, and the smallest patch that passes.
const (
	RuleEvidence = "evidence"
	RuleSmallest = "smallest"
)

// criteria are those of the rule, with the fixed first and last.
func (r Rule) criteria(ev evidence) []criterion {
	all := criteria(ev, r.Models)
	order := r.Order
	if len(order) == 0 {
		order = OrderOf(RuleEvidence)
	}
	first, last := all[0], all[len(all)-1]
	out := []criterion{first}
	for _, name := range distinct(order) {
		i := slices.IndexFunc(all, func(c criterion) bool { return c.name == name })
		if i > 0 && i < len(all)-1 {
			out = append(out, all[i])
		}
	}
	return append(out, last)
}

// ruleOf finds the rule that a stored decision's words describe.
func ruleOf(words, models []string) (Rule, error) {
	all := criteria(evidence{}, nil)
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

func noCode(r *Run) int {
	if r.Verdict != nil && r.Verdict.NoCode {
		return 1
	}
	return 0
}

func noCodeText(r *Run) string {
	if noCode(r) > 0 {
		return "tests, documents, comments or white space only"
	}
	return "code changed"
}

func unsteady(r *Run) int {
	if r.Verdict == nil {
		return 0
	}
	return r.Verdict.Unsteady
}

// proof is 2 with a test of its own that ran and failed without the change, 1 with one that
// does not compile there, else 0. More tests of its own show no more.
func proof(r *Run) int {
	switch {
	case r.Verdict == nil:
		return 0
	case r.Verdict.Proofs > 0:
		return 2
	default:
		return min(r.Verdict.Unready, 1)
	}
}

func proofText(r *Run) string {
	switch proof(r) {
	case 2:
		return Count(r.Verdict.Proofs, "test") + " of its own"
	case 1:
		return "a test that does not compile without it"
	default:
		return "none"
	}
}

// record is the record of the run's model in fifths, rounded to the nearest: what is known of
// a model is too little to tell smaller differences.
func record(r *Run) int { return fifths(r.Experiment.Record) }

func fifths(percent int) int { return (percent + 10) / 20 }

func recordText(r *Run) string {
	if r.Experiment.Record == 0 {
		return "no record"
	}
	return fmt.Sprintf("about %d in 5 right", record(r))
}

func latencyText(r *Run) string { return FormatDuration(r.AgentTime) }

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
	for _, k := range criteria(evidence{}, nil) {
		if k.name == c.Criterion && slices.Contains(d.Rule, k.words) {
			return k.words
		}
	}
	return c.Criterion
}
