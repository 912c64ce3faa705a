package judge_test

import (
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// TestProofs: which tests of its own speak for a candidate. The runs are the regression, its own
// tests, these on the base's code, and then both of the latter once more.
func TestProofs(t *testing.T) {
	t.Parallel()
	both := []string{"src.py", "a_test.py"}
	for name, c := range map[string]struct {
		tries      int // 2
		changes    []string
		base, runs []string
		proofs     []string
		unready    int
		weakens    []string
	}{
		"a new test":                         {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "a+ n-", "a+ n-", "a+ n+"}, proofs: []string{"n"}},
		"one try believes what it sees":      {tries: 1, changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "a+ n-"}, proofs: []string{"n"}},
		"a changed test":                     {changes: both, base: []string{"a+ b+"}, runs: []string{"a+ b+", "a+ b+", "a- b+", "a- b+", "a+ b+"}, proofs: []string{"a"}},
		"one that the base skips":            {changes: both, base: []string{"a+ s~"}, runs: []string{"a+ s~", "a+ s+", "a+ s-", "a+ s-", "a+ s+"}, proofs: []string{"s"}},
		"one that passes without the change": {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "a+ n+"}},
		"one that is skipped without it":     {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "a+ n~"}},
		"fails without the change by chance": {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "a+ n-", "a+ n+"}},
		"passes with the change by chance":   {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+ m+", "a+ n- m-", "a+ n- m-", "a+ n- m+"}, proofs: []string{"m"}},
		"the repeat hangs":                   {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "a+ n-", "hang"}},
		"the run without the change hangs":   {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "hang"}},
		"red on the base, mended":            {changes: both, base: []string{"a-", "a-"}, runs: []string{"a+", "a+", "a-"}},
		"red on the base, loosened": {
			changes: both, base: []string{"a- b+", "a- b+"}, runs: []string{"a- b+", "a+ b+", "a+ b+"}, weakens: []string{"a_test.py"},
		},
		"red on the base, mended with its test": {changes: both, base: []string{"a- b+", "a- b+"}, runs: []string{"a- b+", "a+ b+", "a- b+"}},
		"red on the base, its configuration changed": {
			changes: []string{"src.py", "pytest.ini"}, base: []string{"a- b+", "a- b+"}, runs: []string{"a- b+", "a+ b+", "a+ b+"}, weakens: []string{"pytest.ini"},
		},
		"nothing but tests":                  {changes: []string{"a_test.py"}, base: []string{"a+"}, runs: []string{"a+", "a+ n+"}},
		"nothing but a configuration":        {changes: []string{"src.py", "pytest.ini"}, base: []string{"a+"}, runs: []string{"a+", "a+"}},
		"its file cannot be loaded":          {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+ m+", "a+ a_test.py-"}, unready: 2},
		"no file can be loaded":              {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "!2"}, unready: 1},
		"changed tests that cannot be built": {changes: both, base: []string{"a+ b+"}, runs: []string{"a+ b+", "a+ b+", "b+ [build]-"}, unready: 1},
		"one proof beside one that cannot": {
			changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+ m+", "a+ n- [build]-", "a+ n- [build]-", "a+ n+ m+"}, proofs: []string{"n"}, unready: 1,
		},
		"a file that the base cannot load": {changes: both, base: []string{"a+ x-", "a+ x-"}, runs: []string{"a+ x-", "a+ n+ x-", "a+ x-"}},
		"a program is missing there":       {changes: both, base: []string{"a+"}, runs: []string{"a+", "a+ n+", "!127"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := max(c.tries, map[bool]int{true: 2}[c.tries == 0])
			_, v, made := trial(t, "junit", tries, c.changes, c.base, c.runs)
			if !slices.Equal(v.ProofTests, c.proofs) || v.Proofs != len(c.proofs) || v.Unready != c.unready || !slices.Equal(v.Weakens, c.weakens) {
				t.Errorf("%s: %d proofs %q, %d unready, weakens %q", v.Reason, v.Proofs, v.ProofTests, v.Unready, v.Weakens)
			}
			if made[1] != len(c.runs) {
				t.Errorf("%d runs with the candidate, want %d", made[1], len(c.runs))
			}
		})
	}
}

// TestLoosenedByAnotherFile: a helper that the runner can be asked for as if it were a test turns the test of
// another file green. That file is not in its run, so all run.
func TestLoosenedByAnotherFile(t *testing.T) {
	t.Parallel()
	how := judge.Trial{Test: solve.TestCommand{Command: "pytest", Format: "junit", Report: "r.xml"}, Tries: 2}
	rep, _, err := judge.RunBase(t.Context(), &player{t: t, plays: []string{"a- b+", "a- b+"}}, how)
	must(t, err)
	c := &copies{candidate: &player{t: t, plays: []string{"a- b+", "a+ b+", "a+ b+"}}}
	v := judged(t, c, judge.Input{Trial: how, Base: rep}, "src.py", "b_test.py").Verdict
	if calls := c.candidate.calls; !slices.Equal(v.Weakens, []string{"b_test.py"}) || !slices.Equal(calls, []string{"pytest", "pytest", "pytest"}) {
		t.Errorf("%+v by %q", v, calls)
	}
}
