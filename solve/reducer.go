package solve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Rule is the reducer's order of criteria. The zero Rule is the built-in order
// without an order of models.
//
// That the tests pass always comes first and the run number always last, named
// or not, so no configuration can make a failed candidate win or leave a tie to chance.
type Rule struct {
	// Order names the criteria, see [CriterionNames]; empty is the built-in order.
	// Names that [Rule.Validate] reports are left out.
	Order []string
	// Models is the configured order of models.
	Models []string
	// Cross is what the candidates' new tests say of each other, none where there are none.
	Cross []CrossResult
}

// Validate tells each unknown name of the order with the nearest valid one.
func (r Rule) Validate() error {
	return errors.Join(unknown("criterion", r.Order, CriterionNames())...)
}

// Words is the rule in words, one entry for each criterion.
func (r Rule) Words() []string {
	var out []string
	for _, c := range r.criteria(evidence{}) {
		out = append(out, c.words)
	}
	return out
}

// Reduce ranks the runs of a solve and names the champion: the best run whose
// tests passed and whose patch may be published, 0 if there is none. The result
// depends on the runs and the rule only, never on the order in which the runs come.
//
// Runs that cannot win rank behind all that can: by state, then by number. A reproducer has no rank. The
// decision compares the neighbours of the ranking from the top down, and after
// them the champion with every run that is not its neighbour.
func Reduce(runs []Run, rule Rule) Decision {
	criteria := rule.criteria(evidenceOf(runs, rule.Cross))
	ranked := Candidates(runs)
	slices.SortStableFunc(ranked, func(a, b Run) int {
		order, _ := compareRuns(criteria, &a, &b)
		return order
	})

	d := Decision{Rule: rule.Words(), Cross: rule.Cross}
	for _, r := range ranked {
		d.Ranking = append(d.Ranking, r.N)
	}
	for i := 1; i < len(ranked); i++ {
		d.Comparisons = append(d.Comparisons, explain(criteria, &ranked[i-1], &ranked[i]))
	}
	if len(ranked) == 0 || !eligible(&ranked[0]) {
		return d
	}
	d.Champion = ranked[0].N
	for i := 2; i < len(ranked); i++ {
		d.Comparisons = append(d.Comparisons, explain(criteria, &ranked[0], &ranked[i]))
	}
	return d
}

// RunnerUp is the best-ranked run that is not the champion, 0 if there is none.
func (d Decision) RunnerUp() int {
	if d.Withheld != 0 {
		return d.Withheld
	}
	for _, n := range d.Ranking {
		if d.Champion != 0 && n != d.Champion {
			return n
		}
	}
	return 0
}

// Against is the comparison of the champion with another run: the first
// criterion that told them apart.
func (d Decision) Against(n int) (Comparison, bool) {
	for _, c := range d.Comparisons {
		if c.Winner == d.Champion && c.Loser == n {
			return c, true
		}
	}
	return Comparison{}, false
}

// Agreement returns the numbers of the other runs whose patch is byte for byte
// the one of run n, in order. It is told to people and changes no ranking:
// models that share a training set agree on the same mistake, too.
func Agreement(runs []Run, n int) []int {
	var sum string
	for _, r := range runs {
		if r.N == n && r.Candidate != nil {
			sum = r.Candidate.SHA256
		}
	}
	var out []int
	for _, r := range runs {
		if sum != "" && r.N != n && r.Candidate != nil && r.Candidate.SHA256 == sum {
			out = append(out, r.N)
		}
	}
	slices.Sort(out)
	return out
}

// eligible says whether a run may become the champion.
func eligible(r *Run) bool {
	return !r.Reproduces() && r.State == RunPassed && r.Verdict != nil && r.Verdict.Outcome == Passed &&
		r.Candidate != nil && r.Candidate.Refused == ""
}

// compareRuns is negative if a ranks before b, and names the criterion that
// decided. Among runs that cannot win, only state and number count: the size of
// a patch that does not work says nothing.
func compareRuns(criteria []criterion, a, b *Run) (int, criterion) {
	can := eligible(a) && eligible(b)
	for i, c := range criteria {
		if !can && i > 0 && i < len(criteria)-1 {
			continue
		}
		if order := c.compare(a, b); order != 0 {
			return order, c
		}
	}
	return 0, criteria[len(criteria)-1]
}

// explain compares a run with one that ranks behind it.
func explain(criteria []criterion, winner, loser *Run) Comparison {
	_, c := compareRuns(criteria, winner, loser)
	left, right := c.value(winner), c.value(loser)
	return Comparison{
		Winner: winner.N, Loser: loser.N, Criterion: c.name, Left: left, Right: right,
		Text: fmt.Sprintf("Run %d ranks before run %d: %s (%s against %s).", winner.N, loser.N, c.words, left, right),
	}
}

// gate is the rank by which runs are kept apart before any other criterion: 0 can win.
func gate(r *Run) int {
	if eligible(r) {
		return 0
	}
	if i := slices.Index(gateOrder(), r.State); i >= 0 {
		return 1 + i
	}
	return 1 + len(gateOrder())
}

// gateOrder ranks the states of runs that cannot win, the nearest to a result
// first. A passed run is here when its patch may not be published.
func gateOrder() []RunState {
	return []RunState{
		RunPassed, RunFailed, RunNoVerdict, RunTimedOut, RunEmpty, RunCancelled, RunLost, RunError,
	}
}

// compareCount ranks the lower count first, and compareMore the higher one.
func compareCount(of func(*Run) int) func(a, b *Run) int {
	return func(a, b *Run) int { return cmp.Compare(of(a), of(b)) }
}

func compareMore(of func(*Run) int) func(a, b *Run) int {
	return func(a, b *Run) int { return cmp.Compare(of(b), of(a)) }
}
