package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// contender is one way to choose among the candidates of an issue.
type contender struct {
	name  string
	order []string
	// learn is what is known when an issue is solved; nil is nothing.
	learn func(issues []issue, now issue) []solve.TrackRecord
}

// withRecord is the name of the default rule with a record of the models.
const withRecord = solve.RuleEvidence + " with a record"

// contenders are the rules that are scored, the default rule first.
func contenders() []contender {
	return []contender{
		{name: solve.RuleEvidence, order: solve.OrderOf(solve.RuleEvidence)},
		{name: withRecord, order: solve.OrderOf(solve.RuleEvidence), learn: learn},
		{name: withRecord + " of merged pull requests", order: solve.OrderOf(solve.RuleEvidence), learn: learnMerged},
		{name: solve.RuleSmallest, order: solve.OrderOf(solve.RuleSmallest)},
		{name: "agreement alone", order: []string{"agreement"}},
		{name: "record alone", order: []string{"record"}, learn: learn},
	}
}

// pick is what a contender chooses of an issue: several runs where nothing but the run number decides.
type pick struct {
	issue issue
	runs  []solve.Run
	best  []int // run numbers
}

// choose lets the contender choose. Where no candidate keeps the tests, all are equal.
func (c contender) choose(is issue, all []issue) pick {
	p := pick{issue: is, runs: is.runs()}
	if c.learn != nil {
		records := c.learn(all, is)
		for i := range p.runs {
			x := &p.runs[i].Experiment
			x.Record = solve.RateOf(x.Arm(), is.repo(), records).Percent()
		}
	}
	d := solve.Reduce(p.runs, solve.Rule{Order: c.order})
	for _, r := range p.runs {
		against, ok := d.Against(r.N)
		if d.Champion == 0 || r.N == d.Champion || ok && against.Criterion == "run" && r.State == solve.RunPassed {
			p.best = append(p.best, r.N)
		}
	}
	return p
}

// right is the share of the chosen runs that is right.
func (p pick) right() float64 {
	return share(p.best, func(n int) bool { return p.issue.Candidates[n-1].Resolved })
}

func share[T any](all []T, is func(T) bool) float64 {
	n := 0
	for _, x := range all {
		if is(x) {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

// chance is how often any candidate that keeps the tests is right, and oracle whether one is.
func (is issue) chance() float64 {
	able := slices.DeleteFunc(slices.Clone(is.Candidates), func(e entry) bool { return !e.Kept })
	if len(able) == 0 {
		able = is.Candidates
	}
	return share(able, func(e entry) bool { return e.Resolved })
}

func (is issue) oracle() float64 {
	if is.chance() > 0 {
		return 1
	}
	return 0
}

// score is what a contender reaches on a set, in percent.
type score struct {
	name           string
	precision      float64
	low, high      float64 // 95 % of the precision
	regret, closed float64 // points to the oracle; share of the gap between chance and oracle
	over           [3]float64
	byRepository   map[string]float64
	byGrade        map[solve.Grade]graded
}

// graded is how often champions of a grade are right. Champions that share a first place count by their share.
type graded struct{ right, all float64 }

// evaluate scores all contenders, chance and the oracle.
func evaluate(issues []issue) []score {
	points := func(of func(issue) float64) []float64 {
		out := make([]float64, len(issues))
		for i, is := range issues {
			out[i] = of(is)
		}
		return out
	}
	chance, oracle := points(issue.chance), points(issue.oracle)
	var picks [][]pick
	var all [][]float64
	for _, c := range contenders() {
		var chosen []pick
		all = append(all, points(func(is issue) float64 {
			p := c.choose(is, issues)
			chosen = append(chosen, p)
			return p.right()
		}))
		picks = append(picks, chosen)
	}
	smallest := all[slices.IndexFunc(contenders(), func(c contender) bool { return c.name == solve.RuleSmallest })]
	var out []score
	for i, c := range contenders() {
		s := scoreOf(c.name, issues, all[i], chance, oracle, smallest)
		s.byGrade = grades(picks[i])
		out = append(out, s)
	}
	return append(out,
		scoreOf("chance", issues, chance, chance, oracle, smallest),
		scoreOf("oracle", issues, oracle, chance, oracle, smallest))
}

func scoreOf(name string, issues []issue, got, chance, oracle, smallest []float64) score {
	s := score{name: name, precision: mean(got), byRepository: map[string]float64{}}
	s.low, s.high = bootstrap(got)
	s.regret = mean(oracle) - s.precision
	s.closed = 100 * (s.precision - mean(chance)) / (mean(oracle) - mean(chance))
	gain := make([]float64, len(got))
	for i := range got {
		gain[i] = got[i] - smallest[i]
	}
	s.over[0] = mean(gain)
	s.over[1], s.over[2] = bootstrap(gain)
	parts := map[string][]float64{}
	for i, is := range issues {
		parts[is.Repository] = append(parts[is.Repository], got[i])
	}
	for repo, values := range parts {
		s.byRepository[repo] = mean(values)
	}
	return s
}

// grades counts the champions by what [solve.GradeOf] says of them.
func grades(picks []pick) map[solve.Grade]graded {
	out := map[solve.Grade]graded{}
	for _, p := range picks {
		for _, n := range p.best {
			grade := solve.GradeOf(p.runs, nil, n)
			g := out[grade]
			g.all += 1 / float64(len(p.best))
			if p.issue.Candidates[n-1].Resolved {
				g.right += 1 / float64(len(p.best))
			}
			out[grade] = g
		}
	}
	delete(out, "") // no candidate kept the tests
	return out
}

// mean is in percent.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return 100 * sum / float64(len(values))
}

// resamples is how often the issues are drawn again for an interval.
const resamples = 10_000

// bootstrap is the interval that holds 95 % of the means of issues drawn again. Its seed is fixed.
func bootstrap(values []float64) (low, high float64) {
	rnd := rand.New(rand.NewPCG(14, 2026)) //nolint:gosec // the same figures each time
	means := make([]float64, resamples)
	drawn := make([]float64, len(values))
	for i := range means {
		for j := range drawn {
			drawn[j] = values[rnd.IntN(len(values))]
		}
		means[i] = mean(drawn)
	}
	slices.Sort(means)
	return means[resamples*25/1000], means[resamples*975/1000]
}

// repositories lists the repositories of a set with their numbers of issues, the largest first.
func repositories(issues []issue) (names []string, count map[string]int) {
	count = map[string]int{}
	for _, is := range issues {
		if count[is.Repository]++; count[is.Repository] == 1 {
			names = append(names, is.Repository)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	return names, count
}

// String is "62.5 % of 40".
func (g graded) String() string { return fmt.Sprintf("%.1f %% of %.0f", 100*g.right/g.all, g.all) }
