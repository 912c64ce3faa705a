package solve

import (
	"cmp"
	"slices"
	"time"
)

// evidence is what the runs of a solve say about each other. Only runs that can win have any.
type evidence struct {
	crossed  map[int]crossScore
	agreed   map[int]int // run number: its changed lines that a candidate of another model changes, too
	atypical map[int]int // run number: how far its size is from the middle one
	latency  map[int]int // run number: its place by latency; see sameLatency
}

// sameLatency is the difference that decides nothing: neighbours by latency that are nearer
// than this share a place.
const sameLatency = time.Second

// evidenceOf looks at all runs together. A run's place in it does not depend on their order.
func evidenceOf(runs []Run, cross []CrossResult) evidence {
	var able []*Run
	for i := range runs {
		if eligible(&runs[i]) {
			able = append(able, &runs[i])
		}
	}
	e := evidence{crossScores(runs, able, cross), agreedLines(able), sizeDistances(able), latencyPlaces(able)}
	for _, r := range able {
		if fixes(r) > 0 || e.crossed[r.N].tests > 0 { // a test shows the fix: then the smaller change is the better one
			e.agreed[r.N], e.atypical[r.N] = 0, 0
		}
	}
	return e
}

// crossScore is how many models agree on how many of the candidates' new tests; see crossMatrix.score.
type crossScore struct{ models, tests int }

func (c crossScore) value() int { return c.models * c.tests }

func crossScores(runs []Run, able []*Run, results []CrossResult) map[int]crossScore {
	m, out := newCrossMatrix(results), map[int]crossScore{}
	if len(m) == 0 {
		return out
	}
	for _, r := range able {
		models, tests := m.score(runs, r.N)
		out[r.N] = crossScore{models, tests}
	}
	return out
}

// agreedLines counts the lines of each run that others change, too: those of other models, or
// all others where there is one model.
func agreedLines(runs []*Run) map[int]int {
	out := map[int]int{}
	single := len(distinct(models(runs))) == 1
	for _, r := range runs {
		lines := map[string]bool{}
		for _, o := range runs {
			if o.N != r.N && (single || o.Experiment.Model != r.Experiment.Model) {
				for _, line := range o.Candidate.Lines {
					lines[line] = true
				}
			}
		}
		for _, line := range r.Candidate.Lines {
			if lines[line] {
				out[r.N]++
			}
		}
	}
	return out
}

// sizeDistances are the distances from the middle size; of two in the middle the larger
// one counts: what is wrong is too small more often than too large.
func sizeDistances(runs []*Run) map[int]int {
	var sizes []int
	for _, r := range runs {
		sizes = append(sizes, sourceSize(r))
	}
	slices.Sort(sizes)
	out := map[int]int{}
	for _, r := range runs {
		d := sourceSize(r) - sizes[len(sizes)/2]
		out[r.N] = max(d, -d)
	}
	return out
}

// sourceSize is the size of a diff without its tests, in lines added and deleted.
func sourceSize(r *Run) (n int) {
	for _, f := range r.Candidate.Files {
		if !f.Test {
			n += f.Added + f.Deleted
		}
	}
	return n
}

func latencyPlaces(runs []*Run) map[int]int {
	out := map[int]int{}
	byTime := slices.SortedFunc(slices.Values(runs), func(a, b *Run) int { return cmp.Compare(a.AgentTime, b.AgentTime) })
	place := 0
	for i, r := range byTime {
		if i > 0 && r.AgentTime-byTime[i-1].AgentTime >= sameLatency {
			place++
		}
		out[r.N] = place
	}
	return out
}

func models(runs []*Run) (out []string) {
	for _, r := range runs {
		out = append(out, r.Experiment.Model)
	}
	return out
}

// Grade says how well the runs of a solve show that a candidate is right.
type Grade string

// The grades, the best first.
const (
	// Proven: a test that fails without the candidate passes with it, and it is not a test of the candidate's own.
	Proven Grade = "proven"
	// Supported: a candidate of another model passes the same new tests, or makes much the same change.
	Supported Grade = "supported"
	// Unproven: neither. The tests that passed still pass.
	Unproven Grade = "unproven"
)

// GradeOf is the grade of a run that can win, "" of any other; cross is what the candidates'
// new tests say of each other, as far as that is known.
func GradeOf(runs []Run, cross []CrossResult, n int) Grade {
	i := slices.IndexFunc(runs, func(r Run) bool { return r.N == n && eligible(&r) })
	m := newCrossMatrix(cross)
	switch {
	case i < 0:
		return ""
	case fixes(&runs[i]) > 0, len(m.foreign(runs, n)) > 0:
		return Proven
	case m.agreed(runs, n), slices.ContainsFunc(runs, func(o Run) bool { return eligible(&o) && supports(o, runs[i]) }):
		return Supported
	default:
		return Unproven
	}
}

// supports says whether two models make much the same change: a quarter of the lines that
// either changes are changed by both. docs/evidence/judgement.md has how often that is right.
func supports(a, b Run) bool {
	return a.Experiment.Model != b.Experiment.Model && alikeChange(a, b, sharedLines([]Run{a, b})[0][1])
}

// alikeChange goes by the patches themselves where they have no lines: a rename, a mode, a binary file.
func alikeChange(a, b Run, both int) bool {
	either := len(a.Candidate.Lines) + len(b.Candidate.Lines) - both
	return a.Candidate.SHA256 != "" && a.Candidate.SHA256 == b.Candidate.SHA256 || both > 0 && 4*both >= either
}

// sharedLines counts the lines that two runs change both, for each two places in the list.
func sharedLines(runs []Run) [][]int {
	out, places := make([][]int, len(runs)), map[string][]int{}
	for i, r := range runs {
		out[i] = make([]int, len(runs))
		for _, line := range r.Candidate.Lines {
			for _, j := range places[line] {
				out[i][j]++
				out[j][i]++
			}
			places[line] = append(places[line], i)
		}
	}
	return out
}

// Group are candidates that can win and agree with each other.
type Group struct {
	Runs   []int // numbers of the runs, in order
	Models int   // that made them
	Tests  int   // the candidates' new tests that all of them pass; -1 where no such test passes with somebody else
}

// GroupsOf are the candidates that can win, by what they agree on, the largest group first: those that pass the same of the
// candidates' new tests, or where there is none that passes with somebody else, those that make much the same change.
func GroupsOf(runs []Run, cross []CrossResult) (out []Group) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !eligible(&r) })
	m, shared := newCrossMatrix(cross), sharedLines(runs)
	agree := func(i, j int) bool {
		a, b := &runs[i], &runs[j]
		if len(m) > 0 {
			return m.alike(firstWith(runs, a.N), firstWith(runs, b.N))
		}
		return alikeChange(*a, *b, shared[i][j])
	}
	var groups [][]int
	for i := range runs {
		joined := []int{i}
		groups = slices.DeleteFunc(groups, func(g []int) bool { // who agrees with several makes one group of theirs
			agrees := slices.ContainsFunc(g, func(j int) bool { return agree(i, j) })
			if agrees {
				joined = append(joined, g...)
			}
			return agrees
		})
		groups = append(groups, joined)
	}
	for _, g := range groups {
		out = append(out, groupOf(runs, g, m))
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Or(len(b.Runs)-len(a.Runs), a.Runs[0]-b.Runs[0]) })
	return out
}

func groupOf(runs []Run, places []int, m crossMatrix) Group {
	one, of := Group{Tests: -1}, []*Run(nil)
	if len(m) > 0 {
		one.Tests = len(m[firstWith(runs, runs[places[0]].N)])
	}
	for _, i := range places {
		one.Runs, of = append(one.Runs, runs[i].N), append(of, &runs[i])
	}
	one.Models = len(distinct(models(of)))
	slices.Sort(one.Runs)
	return one
}
