package judge_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// runner is a small test runner: each line of tests/*.t is "name|command". It
// writes a JUnit file, obeys a configuration, and misbehaves when the code says so.
const runner = `
mkdir src tests
echo 0 > src/val
echo ok > src/other
cat > tests/a.t <<'END'
keep|grep -q ok src/other
fix|grep -q 1 src/val
old|grep -q never src/val
later|exit 77
END
cat > tests/b.t <<'END'
two|true
END
cat > runner.sh <<'END'
[ ! -f pytest.ini ] || . ./pytest.ini
[ ! -f src/hang ] || sleep 1000
[ ! -f src/crash ] || exit 1
[ ! -f src/flood ] || head -c 5000000 /dev/zero | tr '\0' x
[ ! -f src/eat ] || { tail /dev/zero; }
out='<testsuite>'; code=0
for f in tests/*.t; do
	[ -f "$f" ] || continue
	while IFS='|' read -r name command; do
		out="$out<testcase classname=\"tests.$(basename "$f" .t)\" name=\"$name\">"
		bash -c "${override:-$command}"
		case $? in 0) ;; 77) out="$out<skipped/>" ;; *) out="$out<failure/>"; code=1 ;; esac
		out="$out</testcase>"
	done < "$f"
done
[ ! -f src/exit ] || code=3
[ -L results.xml ] || echo "$out</testsuite>" > results.xml
echo "ran the tests"
exit $code
END
`

var runnerTests = solve.TestCommand{Command: "bash runner.sh", Format: "junit", Report: "res*.xml", Source: "config"}

func TestJudge(t *testing.T) {
	t.Parallel()
	b := prepare(t, runner, runnerTests)
	want := map[string]judge.Status{
		"tests.a.keep": judge.Pass, "tests.a.fix": judge.Fail, "tests.a.old": judge.Fail, "tests.a.later": judge.Skip, "tests.b.two": judge.Pass,
	}
	if diff := cmp.Diff(want, b.report.Tests); diff != "" {
		t.Fatalf("base: %s", diff)
	}
	const fix = "echo 1 > src/val; "
	const passed, failed, none = solve.Passed, solve.Failed, solve.NoVerdict
	cases := map[string]struct {
		script string
		alter  func(*judge.Input)
		want   solve.Verdict
	}{
		"right fix": {script: fix, want: solve.Verdict{
			Outcome: passed, Reason: "fixes 1 test and keeps 2 passing tests; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"},
		}},
		"wrong fix": {script: "echo 2 > src/val", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"},
		}},
		"breaks another": {script: fix + "rm src/other", want: solve.Verdict{
			Outcome: failed, Reason: "breaks 1 test that passes on the base",
			Fixed: 1, Kept: 1, Still: 1, Broken: 1, FixedTests: []string{"tests.a.fix"}, BrokenTests: []string{"tests.a.keep"}, StillTests: []string{"tests.a.old"},
		}},
		"no change": {script: "true", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"},
		}},
		"deletes the failing test": {script: "rm tests/a.t", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"}, Weakens: []string{"tests/a.t"},
		}},
		"deletes all tests": {script: fix + "rm tests/*", want: solve.Verdict{
			Outcome: passed, Reason: "fixes 1 test and keeps 2 passing tests; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"}, Weakens: []string{"tests/a.t", "tests/b.t"},
		}},
		"turns the failing test off": {script: "sed -i 's/fix|.*/fix|exit 77/' tests/a.t", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"}, Weakens: []string{"tests/a.t"},
		}},
		"makes the failing test pass": {script: "sed -i 's/fix|.*/fix|true/' tests/a.t", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"}, Weakens: []string{"tests/a.t"},
		}},
		"makes the failing test pass beside a change": {script: "echo x > src/new; sed -i 's/fix|.*/fix|true/' tests/a.t", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"}, Weakens: []string{"tests/a.t"},
		}},
		"removes one of the tests": {script: fix + "sed -i /keep/d tests/a.t; echo 'more|true' >> tests/b.t", want: solve.Verdict{
			Outcome: passed, Reason: "fixes 1 test, keeps 2 passing tests and brings 1 new passing test; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, NewPass: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"}, Weakens: []string{"tests/a.t"},
		}},
		"brings a test": {script: fix + "echo 'mine|grep -q 1 src/val' > tests/c.t", want: solve.Verdict{
			Outcome: passed, Reason: "fixes 1 test, keeps 2 passing tests and brings 1 new passing test; 1 test fails as on the base; its own test fails without the change",
			Fixed: 1, Kept: 2, Still: 1, NewPass: 1, Proofs: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"}, ProofTests: []string{"tests.c.mine"},
		}},
		"fixes what no test covers": {script: "echo new > src/new; printf 'mine|grep -q new src/new\\nyours|true\\nours|grep -q n src/new\\n' > tests/c.t", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests and brings 3 new passing tests; 2 tests fail as on the base; its own 2 tests fail without the change",
			Kept: 2, Still: 2, NewPass: 3, Proofs: 2, StillTests: []string{"tests.a.fix", "tests.a.old"}, ProofTests: []string{"tests.c.mine", "tests.c.ours"},
		}},
		"brings a test that passes without the change": {script: "echo new > src/new; echo 'mine|true' > tests/c.t", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests and brings 1 new passing test; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, NewPass: 1, StillTests: []string{"tests.a.fix", "tests.a.old"},
		}},
		"changes a test that passes": {script: "echo new > src/new; sed -i 's/keep|.*/keep|grep -q new src\\/new/' tests/a.t", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; its own test fails without the change",
			Kept: 2, Still: 2, Proofs: 1, StillTests: []string{"tests.a.fix", "tests.a.old"}, ProofTests: []string{"tests.a.keep"},
		}},
		"its own test fails": {script: fix + "echo 'mine|false' > tests/c.t", want: solve.Verdict{
			Outcome: failed, Reason: "its own tests fail: 1 of 4",
			Fixed: 1, Kept: 2, Still: 1, NewFail: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"}, NewFailTests: []string{"tests.c.mine"},
		}},
		"its version of a test fails": {script: fix + "sed -i 's/keep|.*/keep|false/' tests/a.t", want: solve.Verdict{
			Outcome: failed, Reason: "its own tests fail: 1 of 3",
			Fixed: 1, Kept: 2, Still: 1, NewFail: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"}, NewFailTests: []string{"tests.a.keep"},
		}},
		"renames a test file": {script: fix + "git mv tests/b.t tests/z.t", want: solve.Verdict{
			Outcome: passed, Reason: "fixes 1 test, keeps 2 passing tests and brings 1 new passing test; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, NewPass: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"}, Weakens: []string{"tests/b.t"},
		}},
		"replaces the runner": {script: "printf '%s' '<testsuite><testcase classname=\"tests.a\" name=\"fix\"/></testsuite>' > all.xml; echo 'cp all.xml results.xml' > runner.sh", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"}, Weakens: []string{"runner.sh"}, Restored: []string{"runner.sh"},
		}},
		"plants a configuration": {script: "echo 'override=true' > pytest.ini", want: solve.Verdict{
			Outcome: passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: []string{"tests.a.fix", "tests.a.old"}, Weakens: []string{"pytest.ini"}, Restored: []string{"pytest.ini"},
		}},
		"plants a report": {script: "touch src/crash; echo '<testsuite><testcase classname=\"tests.a\" name=\"fix\"/></testsuite>' > results.xml", want: solve.Verdict{
			Outcome: none, Reason: "the test command ended with exit code 1 and reported no test",
		}},
		"plants a link as report": {script: "echo '<testsuite><testcase classname=\"tests.a\" name=\"fix\"/></testsuite>' > src/x.xml; ln -s src/x.xml results.xml; touch src/crash", want: solve.Verdict{
			Outcome: none, Reason: "the test command ended with exit code 1 and reported no test",
		}},
		"hangs": {script: fix + "touch src/hang", alter: func(in *judge.Input) { in.Timeout = 2 * time.Second }, want: solve.Verdict{
			Outcome: none, Reason: "the tests did not end within 2s",
		}},
		"its own test hangs": {script: fix + "echo 'mine|sleep 1000' > tests/c.t", alter: func(in *judge.Input) { in.Timeout = 5 * time.Second }, want: solve.Verdict{
			Outcome: none, Reason: "with the candidate's own tests, the tests did not end within 5s",
			Fixed: 1, Kept: 2, Still: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"},
		}},
		"prints a lot": {script: fix + "touch src/flood", want: solve.Verdict{
			Outcome: passed, Reason: "fixes 1 test and keeps 2 passing tests; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, FixedTests: []string{"tests.a.fix"}, StillTests: []string{"tests.a.old"},
		}},
		"does not apply": {script: "true", alter: func(in *judge.Input) {
			in.Patch = []byte("diff --git a/src/val b/src/val\n--- a/src/val\n+++ b/src/val\n@@ -1 +1 @@\n-zero\n+1\n")
		}, want: solve.Verdict{Outcome: failed, Reason: "the patch does not apply to the base commit"}},
		"base without verdict": {script: fix, alter: func(in *judge.Input) { in.Base = judge.Report{NoVerdict: "no tests were found"} }, want: solve.Verdict{
			Outcome: none, Reason: "the base's own tests give no verdict: no tests were found",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := b.candidate(t, c.script)
			if c.alter != nil {
				c.alter(&in)
			}
			v, log := b.judge(t, in)
			if diff := cmp.Diff(c.want, v, cmpopts.IgnoreFields(solve.Verdict{}, "Duration", "Counts", "NoCode")); diff != "" {
				t.Errorf("%s\n%s", diff, log)
			}
			if v.Kept > 0 && (v.Counts.Passed == 0 || !strings.Contains(log, "ran the tests") && !strings.Contains(log, "xxx")) {
				t.Errorf("counts %+v, log %q", v.Counts, log)
			}
			if strings.ContainsAny(v.Reason, "\n.") && !strings.Contains(name, "hang") {
				t.Errorf("the reason is no single plain sentence: %q", v.Reason)
			}
		})
	}
}

// On a base whose tests all pass, the exit code alone still counts.
func TestJudgeExitWithoutFailure(t *testing.T) {
	t.Parallel()
	b := prepare(t, runner+"sed -i '/^fix/d;/^old/d' tests/a.t", runnerTests)
	v, log := b.judge(t, b.candidate(t, "touch src/exit"))
	if v.Outcome != solve.Failed || v.Reason != "the test command exits with 3 although no test fails" {
		t.Errorf("%+v\n%s", v, log)
	}
	v, log = b.judge(t, b.candidate(t, "echo x > README"))
	if v.Outcome != solve.Passed || v.Reason != "keeps 2 passing tests; no test shows the fix" {
		t.Errorf("%+v\n%s", v, log)
	}
}

func TestJudgeByExitCode(t *testing.T) {
	t.Parallel()
	const repo = `
mkdir src tests; echo 1 > src/val; echo 'grep -q 1 src/val' > tests/t.sh; printf '%%.sh:\ntest:\n\tfor t in tests/*.sh; do sh $$t || exit 1; done\n' > Makefile
`
	test := solve.TestCommand{Command: "make test", Format: "exit", Source: "Makefile"}
	green, red := prepare(t, repo, test), prepare(t, repo+"echo 0 > src/val", test)
	const says = "the tests fail as on the base (exit code 2), so they say nothing about the change"
	const steered = "the tests fail as on the base (exit code 2): they pass only with its changes to the tests or to what runs them"
	for name, c := range map[string]struct {
		base    base
		script  string
		outcome solve.Outcome
		reason  string
	}{
		"still green":            {green, "echo 11 > src/val", solve.Passed, "the tests pass, as they did on the base"},
		"broken":                 {green, "echo 0 > src/val", solve.Failed, "the tests fail (exit code 2) and passed on the base"},
		"fixed":                  {red, "echo 1 > src/val", solve.Passed, "the tests, which failed on the base, pass"},
		"still red":              {red, "echo 2 > src/val", solve.Passed, says},
		"still red, brings one":  {red, "echo true > tests/u.sh", solve.Passed, says},
		"test deleted":           {red, "rm tests/t.sh; echo true > tests/u.sh", solve.Failed, steered},
		"test weakened":          {red, "echo true > tests/t.sh", solve.Failed, steered},
		"target replaced":        {red, "printf 'test:\\n\\ttrue\\n' > Makefile", solve.Failed, steered},
		"target overlaid":        {red, "printf 'test:\\n\\ttrue\\n' > GNUmakefile", solve.Failed, steered},
		"own test fails":         {green, "echo false > tests/u.sh", solve.Failed, "its own tests fail (exit code 2)"},
		"own test passes":        {green, "echo true > tests/u.sh", solve.Passed, "the tests pass, as they did on the base"},
		"own test shows nothing": {green, "echo x > src/new; echo true > tests/u.sh", solve.Passed, "the tests pass, as they did on the base"},
		"own test shows it":      {green, "echo x > src/new; echo 'test -f src/new' > tests/u.sh", solve.Passed, "the tests pass, as they did on the base; its own test fails without the change"},
		"a program is missing":   {green, "printf 'test:\\n\\tnosuch\\n' > Makefile", solve.NoVerdict, "with the candidate's own tests, the test command could not be run: make did not find one of its programs"},
		"honest Makefile change": {green, "printf 'clean:\\n\\ttrue\\n' >> Makefile", solve.Passed, "the tests pass, as they did on the base"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, log := c.base.judge(t, c.base.candidate(t, c.script))
			if v.Outcome != c.outcome || v.Reason != c.reason || v.Kept+v.Broken+v.Still != 0 {
				t.Errorf("%+v\n%s", v, log)
			}
			if (v.Fixed == 1) != (name == "fixed") || (v.Proofs == 1) != (name == "own test shows it") || (v.Tampering != "") != (c.reason == steered) {
				t.Errorf("%d fixed, %d proofs, tampering %q", v.Fixed, v.Proofs, v.Tampering)
			}
			if name == "test deleted" && !slices.Equal(v.Weakens, []string{"tests/t.sh"}) {
				t.Errorf("weakens = %q", v.Weakens)
			}
		})
	}
}

func TestJudgeReportsADeadSandbox(t *testing.T) {
	t.Parallel()
	closed := 0
	in := judge.Input{Patch: []byte("x"), Trial: judge.Trial{Test: runnerTests}}
	in.Open = func(context.Context) (sandbox.Sandbox, func(), error) { return gone{}, func() { closed++ }, nil }
	if _, err := judge.Judge(t.Context(), in); !errors.Is(err, sandbox.ErrGone) || closed != 1 {
		t.Errorf("error = %v, closed %d times, want ErrGone and once", err, closed)
	}
	in.Open = func(context.Context) (sandbox.Sandbox, func(), error) { return nil, nil, sandbox.ErrCapacity }
	if _, err := judge.Judge(t.Context(), in); !errors.Is(err, sandbox.ErrCapacity) {
		t.Errorf("error = %v, want ErrCapacity", err)
	}
}

// gone is a sandbox that does not exist any more.
type gone struct{ sandbox.Sandbox }

// Exec fails.
func (gone) Exec(context.Context, sandbox.Command) (sandbox.Result, error) {
	return sandbox.Result{}, sandbox.ErrGone
}

// Get fails.
func (gone) Get(context.Context, string) (io.ReadCloser, error) { return nil, sandbox.ErrGone }
