package solve

import "slices"

// CrossResult is what the new tests of one candidate say of another one. A test that does not
// compile or import there says nothing and stands in neither list.
type CrossResult struct {
	Author int      `json:"author"` // number of the run whose candidate brought the tests
	Run    int      `json:"run"`    // number of the run whose candidate was tested
	Passed []string `json:"passed,omitempty"`
	Failed []string `json:"failed,omitempty"`
}

// CrossPair is a candidate whose new tests run on another one.
type CrossPair struct{ Author, Run int }

// CrossPairs lists whose new tests run on whom, at most so many: first those of the reproducer on
// each candidate that can win, then those of each such candidate on each other one. It goes around, so
// that a bound leaves nobody out: each author is tried on one other before any is tried on two. An
// author has proofs with names; a proof by the exit code alone has none. Of candidates with the same
// patch only the first is there: see firstWith.
func CrossPairs(runs []Run, most int) []CrossPair {
	var able []*Run
	for i := range runs {
		if r := &runs[i]; eligible(r) && firstWith(runs, r.N) == r.N {
			able = append(able, r)
		}
	}
	slices.SortFunc(able, func(a, b *Run) int { return a.N - b.N })
	var out []CrossPair
	add := func(author, r *Run) {
		if len(author.Verdict.ProofTests) > 0 {
			out = append(out, CrossPair{author.N, r.N})
		}
	}
	if author, ok := Reproducer(runs); ok && author.State == RunPassed && author.Verdict != nil && author.Candidate != nil {
		for _, r := range able {
			add(&author, r)
		}
	}
	for step := 1; step < len(able); step++ {
		for i, author := range able {
			add(author, able[(i+step)%len(able)])
		}
	}
	return out[:min(len(out), most)]
}

// firstWith is the lowest number of the runs that can win with the same patch as run n, and n
// itself where that one cannot win.
func firstWith(runs []Run, n int) int {
	i := slices.IndexFunc(runs, func(r Run) bool { return r.N == n && eligible(&r) })
	for _, r := range runs {
		if i >= 0 && r.N < n && eligible(&r) && r.Candidate.SHA256 != "" && r.Candidate.SHA256 == runs[i].Candidate.SHA256 {
			n = r.N
		}
	}
	return n
}

// crossTest is a test with its author: two candidates may use one name.
type crossTest struct {
	author int
	name   string
}

// crossMatrix says of each run which of the candidates' new tests pass with it.
type crossMatrix map[int]map[crossTest]bool

// newCrossMatrix leaves out the tests that nobody but their author passes: they ask for one
// way to solve the issue. An author passes its own.
func newCrossMatrix(results []CrossResult) crossMatrix {
	shared := map[crossTest]bool{}
	for _, c := range results {
		for _, name := range c.Passed {
			if c.Author != c.Run {
				shared[crossTest{c.Author, name}] = true
			}
		}
	}
	m := crossMatrix{}
	set := func(run int, test crossTest) {
		if m[run] == nil {
			m[run] = map[crossTest]bool{}
		}
		m[run][test] = true
	}
	for _, c := range results {
		for _, name := range c.Passed {
			if test := (crossTest{c.Author, name}); shared[test] {
				set(c.Run, test)
			}
		}
	}
	for test := range shared {
		set(test.author, test)
	}
	return m
}

// foreign lists the tests that pass with the run and that it did not write. A reproduction test
// counts if a candidate of another model than its author's passes it: else one model may have
// misread the issue in both.
func (m crossMatrix) foreign(runs []Run, n int) (out []crossTest) {
	n = firstWith(runs, n)
	reproducer, _ := Reproducer(runs)
	for test := range m[n] {
		independent := func(r Run) bool {
			return eligible(&r) && m[firstWith(runs, r.N)][test] && r.Experiment.Model != reproducer.Experiment.Model
		}
		if test.author != n && (test.author != reproducer.N || slices.ContainsFunc(runs, independent)) {
			out = append(out, test)
		}
	}
	return out
}

// score is the number of models whose candidates pass the same tests as the run, times the
// number of those tests (CodeT, arXiv 2207.10397, section 3, with models in place of samples).
func (m crossMatrix) score(runs []Run, n int) (models, tests int) {
	n = firstWith(runs, n)
	var same []string
	for i := range runs {
		if r := &runs[i]; eligible(r) && m.alike(firstWith(runs, r.N), n) {
			same = append(same, r.Experiment.Model)
		}
	}
	return len(distinct(same)), len(m[n])
}

// agreed says whether two models at least pass the same of the candidates' new tests as the run.
func (m crossMatrix) agreed(runs []Run, n int) bool {
	models, tests := m.score(runs, n)
	return models > 1 && tests > 0
}

func (m crossMatrix) alike(a, b int) bool {
	if len(m[a]) != len(m[b]) {
		return false
	}
	for test := range m[a] {
		if !m[b][test] {
			return false
		}
	}
	return true
}

// foreignTests counts the tests that pass with run n and fail without its change, those of the
// reproducer and those of other candidates.
func (d Decision) foreignTests(runs []Run, n int) (reproduction, others int) {
	reproducer, _ := Reproducer(runs)
	names := map[string]bool{} // two candidates may bring the same test
	for _, test := range newCrossMatrix(d.Cross).foreign(runs, n) {
		if test.author == reproducer.N {
			reproduction++
		} else {
			names[test.name] = true
		}
	}
	return reproduction, len(names)
}
