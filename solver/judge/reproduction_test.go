package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// TestReproduce: which tests of a reproducer may judge candidates. The runs are its tests on the base's code.
func TestReproduce(t *testing.T) {
	t.Parallel()
	one, base := []string{"new_test.py"}, []string{"a+ b+"}
	many := "a+ b+"
	for n := range 60 {
		many += " n" + string(rune('A'+n)) + "-"
	}
	const once, twice, never = 1, 2, 0
	for name, c := range map[string]struct {
		changes    []string
		base, runs []string
		red        []string
		reason     string
		made       int
	}{
		"red each time":            {one, base, []string{"a+ b+ n- m+", "a+ b+ n- m+"}, []string{"n"}, "brings 1 new test that fails on the base", twice},
		"red on a red base":        {one, []string{"a- b+", "a- b+"}, []string{"a- b+ n-", "a- b+ n-"}, []string{"n"}, "brings 1 new test", twice},
		"one of them by chance":    {one, base, []string{"a+ b+ n- m-", "a+ b+ n- m+"}, []string{"n"}, "brings 1 new test", twice},
		"a base's test by chance":  {one, base, []string{"a- b+ n-", "a+ b+ n-"}, []string{"n"}, "brings 1 new test", twice},
		"red by chance":            {one, base, []string{"a+ b+ n-", "a+ b+ n+"}, nil, "no new test fails on the base each time", twice},
		"green":                    {one, base, []string{"a+ b+ n+"}, nil, "no new test fails on the base each time", once},
		"its file does not load":   {one, base, []string{"a+ b+ new_test.py-"}, nil, "cannot be loaded on the base", once},
		"another of its files not": {one, base, []string{"a+ b+ n- o%[collect]-", "a+ b+ n- o%[collect]-"}, nil, "cannot be loaded on the base", twice},
		"its package does not":     {one, base, []string{"[build]-", "[build]-"}, nil, "2 tests fail or are gone", twice},
		"it breaks what was there": {one, base, []string{"a- b+ n-", "a- b+ n-"}, nil, "1 test fails or is gone that passed", twice},
		"it hangs":                 {one, base, []string{"hang"}, nil, "with the reproducer's tests, ", once},
		"it hangs later":           {one, base, []string{"a+ b+ n-", "hang"}, nil, "with the reproducer's tests, ", twice},
		"it floods":                {one, base, []string{many, many}, nil, "60 failing tests, more than 50", twice},
		"it writes source":         {[]string{"new_test.py", "src.py"}, base, nil, nil, "it changes 1 other file", never},
		"it configures a runner":   {[]string{"new_test.py", "pytest.ini", "conftest.py"}, base, nil, nil, "it changes 2 files that steer tests", never},
		"the base says nothing":    {one, []string{"!127"}, nil, nil, "the base's own tests give no verdict", never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, calls := reproduced(t, "t", c.changes, c.base, c.runs)
			made := len(calls)
			if !slices.Equal(v.ProofTests, c.red) || v.Proofs != len(c.red) || (v.Outcome == solve.Passed) != (c.red != nil) ||
				!strings.Contains(v.Reason, c.reason) || made != c.made {
				t.Errorf("%s, %q: %d tests %q, in %d runs", v.Outcome, v.Reason, v.Proofs, v.ProofTests, made)
			}
		})
	}
}

// TestReproduceRepeatsAllAfterAnAccident: a test of the base that failed by chance beside the new ones decides nothing.
func TestReproduceRepeatsAllAfterAnAccident(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ runs, calls []string }{
		"an accident": {[]string{"a- b+ n-", "a+ b+ n-"}, []string{"pytest", "pytest"}},
		"none":        {[]string{"a+ b+ n-", "n-"}, []string{"pytest", "pytest test_new.py"}},
	} {
		v, calls := reproduced(t, "pytest", []string{"test_new.py"}, []string{"a+ b+"}, c.runs)
		if v.Outcome != solve.Passed || !slices.Equal(v.ProofTests, []string{"n"}) || !slices.Equal(calls, c.calls) {
			t.Errorf("%s: %+v in %q", name, v, calls)
		}
	}
}

func reproduced(t *testing.T, command string, changes, base, runs []string) (v solve.Verdict, calls []string) {
	t.Helper()
	how := judge.Trial{Test: solve.TestCommand{Command: command, Format: "junit", Report: "r.xml"}, Tries: 2}
	rep, _, err := judge.RunBase(t.Context(), &player{t: t, plays: base}, how)
	must(t, err)
	c := &copies{candidate: &player{t: t, plays: runs}}
	in := judge.Input{Trial: how, Base: rep, Patch: []byte("x"), Open: c.Open}
	for _, p := range changes {
		in.Changes = append(in.Changes, solve.FileChange{Path: p, Op: "add"})
	}
	res, err := judge.Reproduce(t.Context(), in)
	must(t, err)
	if c.open != 0 || c.most > 1 {
		t.Errorf("%d copies are open at the end, and the tests ran %d times in one", c.open, c.most)
	}
	return res.Verdict, c.candidate.calls
}
