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

// foreign counts the tests of other candidates that pass with the run.
func (m crossMatrix) foreign(run int) (n int) {
	for test := range m[run] {
		if test.author != run {
			n++
		}
	}
	return n
}

// score is the number of models whose candidates pass the same tests as the run, times the
// number of those tests (CodeT, arXiv 2207.10397, section 3, with models in place of samples).
func (m crossMatrix) score(runs []*Run, n int) (models, tests int) {
	var same []string
	for _, r := range runs {
		if r.N == n || m.alike(r.N, n) {
			same = append(same, r.Experiment.Model)
		}
	}
	return len(distinct(same)), len(m[n])
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

// ForeignTests names the tests of other candidates that pass with the champion, each of which
// fails without its change; sorted.
func (d Decision) ForeignTests() []string {
	var out []string
	for test := range newCrossMatrix(d.Cross)[d.Champion] {
		if test.author != d.Champion {
			out = append(out, test.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
