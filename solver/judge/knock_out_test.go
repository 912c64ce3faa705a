package judge_test

import (
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestKnockOut: what a candidate fixes must fail again without its source. The runs are the
// regression, its own tests, and these on the base's code.
func TestKnockOut(t *testing.T) {
	t.Parallel()
	const lied = "what it fixes passes without its change of the source, too"
	both := []string{"src.py", "a_test.py"}
	for name, c := range map[string]struct {
		changes    []string
		base, runs []string
		tampering  string
		weakens    []string
	}{
		"nothing but source":                 {changes: []string{"src.py"}, base: []string{"a-"}, runs: []string{"a+"}},
		"nothing but tests":                  {changes: []string{"a_test.py"}, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+"}},
		"red again":                          {changes: both, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "a- b+"}},
		"green":                              {changes: both, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "a+ b+", "a+ b+", "a+ b+", "a- b+"}, tampering: lied},
		"green, as the base is by now":       {changes: both, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "a+ b+", "a+ b+", "a+ b+", "a+ b+"}},
		"a file in the root, and a document": {changes: []string{"README.md", "pytest.ini"}, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+"}},
		"green by chance":                    {changes: both, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "a+ b+", "a+ b+", "a- b+"}},
		"skipped is not green":               {changes: both, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "a~ b+"}},
		"one of two":                         {changes: both, base: []string{"a- b-"}, runs: []string{"a+ b+", "a+ b+", "a+ b-", "a+ b-", "a+ b-"}, weakens: []string{"a_test.py"}},
		"the run hangs":                      {changes: both, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "hang"}},
		"by what configures its tests":       {changes: []string{"src.py", "pytest.ini"}, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "a+ b+", "a+ b+", "a- b+"}, tampering: lied},
		"a candidate that fixes nothing":     {changes: both, base: []string{"a- b+"}, runs: []string{"a- b+", "a- b+", "a- b+"}},
		"a fix that its configuration needs": {changes: []string{"src.py", "pytest.ini"}, base: []string{"a- b+"}, runs: []string{"a+ b+", "a+ b+", "a- b+"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, v, made := trial(t, "junit", 2, c.changes, []string{c.base[0], c.base[0]}, c.runs)
			want := map[bool]solve.Outcome{true: solve.Failed, false: solve.Passed}[c.tampering != ""]
			if v.Tampering != c.tampering || v.Outcome != want || !slices.Equal(v.Weakens, c.weakens) || made[1] != len(c.runs) {
				t.Errorf("%+v after %d runs with the candidate", v, made[1])
			}
		})
	}
	for name, c := range map[string]struct {
		runs      []string
		tampering string
	}{
		"red again": {[]string{"!0", "!0", "!1"}, ""},
		"green":     {[]string{"!0", "!0", "!0", "!0", "!1"}, lied},
		"by now":    {[]string{"!0", "!0", "!0", "!0", "!0"}, ""},
	} {
		_, v, made := trial(t, "exit", 2, []string{"src.py", "a_test.py"}, []string{"!1", "!1"}, c.runs)
		if v.Tampering != c.tampering || made[1] != len(c.runs) {
			t.Errorf("exit code, %s: %+v after %d runs", name, v, made[1])
		}
	}
}

// TestKnockOutKeepsWhatSteers, in real sandboxes: a file that no rule knows, and that the program of the tests
// reads because it is there.
func TestKnockOutKeepsWhatSteers(t *testing.T) {
	t.Parallel()
	b := prepare(t, `echo 4 > sum.sh; seq 9 > list.dat
printf 'check:\n\t@[ -f .quiet ] || [ "$$(cat sum.sh)" = 5 ]\n' > rules.mk
printf 'test:\n\t@$(MAKE) -s -f rules.mk check\n' > Makefile`,
		solve.TestCommand{Command: "make test", Format: "exit", Source: "Makefile"})
	for name, c := range map[string]struct {
		script    string
		tampering bool
	}{
		"fix":                            {"echo 5 > sum.sh", false},
		"fix with a new file":            {"echo 5 > sum.sh; echo > .other", false},
		"change beside a file that lies": {"echo 6 > sum.sh; echo > .quiet", true},
		"the same by a file that was":    {"echo 6 > sum.sh; mv list.dat .quiet", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, log := b.judge(t, b.candidate(t, c.script))
			if (v.Tampering != "") != c.tampering || (v.Outcome == solve.Failed) != c.tampering {
				t.Errorf("%+v\n%s", v, log)
			}
		})
	}
}
