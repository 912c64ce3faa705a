package judge_test

import (
	"testing"

	"github.com/yudai-dev/yudai/solver/judge"
)

// TestUnsteady: a test with one result in two runs of the base, and several with the candidate.
func TestUnsteady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes    []string
		base, runs []string // the base's are those before and beside the candidate's
		want       int
	}{
		"steady":                              {base: []string{"a+ b+"}, runs: []string{"a+ b+"}},
		"fails once":                          {base: []string{"a+ b+", "a+ b+"}, runs: []string{"a+ b-", "a+ b+"}, want: 1},
		"fails once, and on the base, too":    {base: []string{"a+ b+", "a+ b-"}, runs: []string{"a+ b-", "a+ b+"}},
		"fails once, and once another":        {base: []string{"a+ b+ c+", "a+ b+ c+"}, runs: []string{"a+ b- c+", "a+ b+ c-"}, want: 2},
		"known to be flaky":                   {base: []string{"a- b+ c+", "a- b- c+"}, runs: []string{"a+ b- c-", "a+ b+ c+"}, want: 1},
		"a new one":                           {changes: []string{"a_test.py"}, base: []string{"a+"}, runs: []string{"a+", "a+ n-", "a+ n+"}},
		"in the repeat of what shows the fix": {changes: []string{"src.py", "a_test.py"}, base: []string{"a+", "a+"}, runs: []string{"a+", "a+ n+", "a+ n-", "a+ n-", "a- n+"}, want: 1},
	} {
		how := judge.Trial{Test: junitTests, Tries: 2}
		b := &player{t: t, plays: c.base}
		rep, _, err := judge.RunBase(t.Context(), b, how)
		must(t, err)
		res := judged(t, &copies{candidate: &player{t: t, plays: c.runs}, base: b}, judge.Input{Trial: how, Base: rep}, c.changes...)
		if res.Verdict.Unsteady != c.want || b.made != len(c.base) {
			t.Errorf("%s: %d unsteady after %d runs of the base: %s", name, res.Verdict.Unsteady, b.made, res.Verdict.Reason)
		}
	}
}

// TestUnsteadyCommand is the same where only the exit code is known.
func TestUnsteadyCommand(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]int{"!0": 1, "!1": 0} {
		if _, v, _ := trial(t, "exit", 2, nil, []string{"!0"}, []string{"!1", "!0", last}); v.Unsteady != want {
			t.Errorf("the base's second run is %s: %d unsteady, want %d", last, v.Unsteady, want)
		}
	}
}
