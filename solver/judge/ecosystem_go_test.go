package judge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// goModule is a module with a bug, a failing test for it, and a failure of long standing.
const goModule = `
mkdir sum other
printf 'module example.com/m\n\ngo 1.21\n' > go.mod
cat > sum/sum.go <<'END'
package sum

func Sum(a, b int) int { return a - b }

func Zero() int { return 0 }
END
cat > sum/sum_test.go <<'END'
package sum

import "testing"

func TestSum(t *testing.T) {
	if Sum(1, 2) != 3 {
		t.Error("wrong sum")
	}
}

func TestZero(t *testing.T) {
	if Zero() != 0 {
		t.Error("not zero")
	}
}
END
cat > other/other_test.go <<'END'
package other

import "testing"

func TestOld(t *testing.T) { t.Error("fails since last year") }

func TestFine(t *testing.T) {}
END
`

// goImage is a base without a repository in which Go's standard library is compiled already.
var goImage = sync.OnceValues(func() (string, error) {
	d, err := driver()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	sb, err := d.Open(ctx, sandbox.Spec{Name: "go"})
	if err != nil {
		return "", err
	}
	const warm = `cd "$(mktemp -d)"; printf 'module w\n' > go.mod; printf 'package w\nimport (_ "os"; "testing")\nfunc TestW(*testing.T) {}\n' > w_test.go; go test .`
	if out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: warm}); err != nil || res.ExitCode != 0 {
		return "", fmt.Errorf("exit %d, %w: %s", res.ExitCode, err, out)
	}
	return d.Freeze(ctx, sb)
})

func warmGo(t *testing.T) string {
	t.Helper()
	open(t, "") // skips where there is no sandbox
	image, err := goImage()
	must(t, err)
	return image
}

func TestJudgeGo(t *testing.T) {
	t.Parallel()
	setup, err := detect(map[string]string{"go.mod": "module example.com/m\n", "sum/sum_test.go": ""})
	must(t, err)
	b := prepareFrom(t, warmGo(t), goModule, setup.Test)
	const m = "example.com/m/"
	want := map[string]judge.Status{
		m + "sum.TestSum": judge.Fail, m + "sum.TestZero": judge.Pass, m + "other.TestOld": judge.Fail, m + "other.TestFine": judge.Pass,
	}
	if diff := cmp.Diff(want, b.report.Tests); diff != "" {
		t.Fatalf("base: %s", diff)
	}
	const fix = "sed -i 's/a - b/a + b/' sum/sum.go; "
	still := []string{m + "other.TestOld"}
	both := []string{m + "other.TestOld", m + "sum.TestSum"}
	fixed := []string{m + "sum.TestSum"}
	for name, c := range map[string]struct {
		script string
		want   solve.Verdict
	}{
		"right fix": {fix, solve.Verdict{
			Outcome: solve.Passed, Reason: "fixes 1 test and keeps 2 passing tests; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, FixedTests: fixed, StillTests: still,
		}},
		"breaks another": {fix + "sed -i 's/return 0/return 1/' sum/sum.go", solve.Verdict{
			Outcome: solve.Failed, Reason: "breaks 1 test that passes on the base",
			Fixed: 1, Kept: 1, Still: 1, Broken: 1, FixedTests: fixed, StillTests: still, BrokenTests: []string{m + "sum.TestZero"},
		}},
		"does not build": {"echo 'func Sum() {}' >> sum/sum.go", solve.Verdict{
			Outcome: solve.Failed, Reason: "the code does not build: 1 package",
			Kept: 1, Broken: 1, Still: 2, NewFail: 1, StillTests: both, BrokenTests: []string{m + "sum.TestZero"}, NewFailTests: []string{m + "sum [build]"},
		}},
		"deletes the failing test": {"rm sum/sum_test.go", solve.Verdict{
			Outcome: solve.Passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: both, Weakens: []string{"sum/sum_test.go"},
		}},
		"a TestMain that runs nothing": {"printf 'package sum\\nimport (\"os\";\"testing\")\\nfunc TestMain(m *testing.M) { os.Exit(0) }\\n' > sum/main_test.go", solve.Verdict{
			Outcome: solve.Passed, Reason: "keeps 2 passing tests; 2 tests fail as on the base; no test shows the fix",
			Kept: 2, Still: 2, StillTests: both, Weakens: []string{"sum/main_test.go"},
		}},
		"its own tests do not build": {fix + "printf 'package sum\\nfunc TestSum() {}\\n' > sum/more_test.go", solve.Verdict{
			Outcome: solve.Failed, Reason: "with its own tests, the code does not build: 1 package",
			Fixed: 1, Kept: 2, Still: 1, NewFail: 1, FixedTests: fixed, StillTests: still, NewFailTests: []string{m + "sum [build]"},
		}},
		"moves a test and adds a helper": {fix + "sed -i '/func TestZero/,$d' sum/sum_test.go; printf 'package sum\\nimport \"testing\"\\nfunc TestZero(t *testing.T) { t.Run(\"sub\", func(t *testing.T) {}) }\\n' > sum/zero_test.go", solve.Verdict{
			Outcome: solve.Passed, Reason: "fixes 1 test, keeps 2 passing tests and brings 1 new passing test; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, NewPass: 1, FixedTests: fixed, StillTests: still,
		}},
		"removes a test": {fix + "sed -i '/func TestFine/d' other/other_test.go; echo '// more' >> sum/sum_test.go", solve.Verdict{
			Outcome: solve.Passed, Reason: "fixes 1 test and keeps 2 passing tests; 1 test fails as on the base",
			Fixed: 1, Kept: 2, Still: 1, FixedTests: fixed, StillTests: still, Weakens: []string{"other/other_test.go"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, log := b.judge(t, b.candidate(t, c.script))
			if diff := cmp.Diff(c.want, v, cmpopts.IgnoreFields(solve.Verdict{}, "Duration", "Counts", "NoCode")); diff != "" {
				t.Errorf("%s\n%s", diff, log)
			}
			if strings.Contains(log, `{"Action"`) || !strings.Contains(log, "--- FAIL: TestOld") {
				t.Errorf("the log is not for people: %s", log)
			}
		})
	}
}

// A base whose package does not build is fixed by one that does.
func TestJudgeGoMendsABuild(t *testing.T) {
	t.Parallel()
	b := prepareFrom(t, warmGo(t), goModule+"echo 'func (' >> sum/sum.go", solve.TestCommand{Command: "go test ./...", Format: "go", Source: "config"})
	v, log := b.judge(t, b.candidate(t, "sed -i '$d' sum/sum.go; sed -i 's/a - b/a + b/' sum/sum.go"))
	if v.Outcome != solve.Passed || v.Fixed != 1 || v.NewPass != 2 || v.FixedTests[0] != "example.com/m/sum [build]" {
		t.Errorf("%+v\n%s", v, log)
	}
}

// A go.mod that puts a module of its own in the place of one that the tests use.
func TestJudgeGoReplacedModule(t *testing.T) {
	t.Parallel()
	const repo = `mkdir calm real sum
printf 'module example.com/m\n\ngo 1.22\n\nrequire example.com/assert v0.0.0\n\nreplace example.com/assert => ./real\n' > go.mod
for d in real calm; do printf 'module example.com/assert\n\ngo 1.22\n' > $d/go.mod; done
printf 'package assert\nimport "testing"\nfunc True(t *testing.T, ok bool) { if !ok { t.Fatal("not true") } }\n' > real/a.go
printf 'package assert\nimport "testing"\nfunc True(*testing.T, bool) {}\n' > calm/a.go
printf 'package sum\nfunc Sum(a, b int) int { return a - b }\n' > sum/sum.go
printf 'package sum\nimport ("testing";"example.com/assert")\nfunc TestSum(t *testing.T) { assert.True(t, Sum(1, 2) == 3) }\nfunc TestZero(t *testing.T) { assert.True(t, Sum(0, 0) == 0) }\n' > sum/sum_test.go
`
	b := prepareFrom(t, warmGo(t), repo, solve.TestCommand{Command: "go test ./...", Format: "go", Source: "config"})
	v, log := b.judge(t, b.candidate(t, "sed -i 's/=> .*/=> .\\/calm/' go.mod"))
	if v.Still != 1 || v.Fixed != 0 || !slices.Equal(v.Weakens, []string{"go.mod"}) {
		t.Errorf("%+v\n%s", v, log)
	}
	v, log = b.judge(t, b.candidate(t, "echo '// checked' >> go.mod; sed -i 's/a - b/a + b/' sum/sum.go"))
	if v.Outcome != solve.Passed || v.Fixed != 1 {
		t.Errorf("an honest change: %+v\n%s", v, log)
	}
}

func TestJudgePytest(t *testing.T) {
	t.Parallel()
	sb := open(t, "")
	if _, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "python3 -m pytest --version"}); err != nil || res.ExitCode != 0 {
		t.Skip("there is no pytest in the sandbox (package python3-pytest)")
	}
	setup, err := detect(map[string]string{"calc.py": "", "tests/test_calc.py": ""})
	must(t, err)
	b := prepare(t, `mkdir tests; touch conftest.py
printf 'def add(a, b):\n    return a - b\n' > calc.py
printf 'import calc\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\ndef test_zero():\n    assert calc.add(0, 0) == 0\n' > tests/test_calc.py
printf 'import nowhere\n' > tests/test_old.py`, setup.Test)
	const fix = "sed -i 's/a - b/a + b/' calc.py; "
	for name, c := range map[string]struct {
		script, reason string
		weakens        int
	}{
		"right fix":    {fix, "fixes 1 test and keeps 1 passing test; 1 test fails as on the base", 0},
		"mends a file": {fix + "printf 'def test_new(): pass\n' > tests/test_old.py", "fixes 1 test, keeps 1 passing test and brings 1 new passing test; 1 test fails as on the base", 0},
		"broken code":  {"echo 'def (' >> calc.py", "breaks 1 test that passes on the base", 0},
		"hides by a conftest": {"printf 'import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    o = yield\n    r = o.get_result()\n    r.outcome = \"passed\"\n' > conftest.py",
			"keeps 1 passing test; 2 tests fail as on the base; no test shows the fix", 1},
		"shadows the runner": {"printf 'print(\"5 passed\")\n' > pytest.py", "keeps 1 passing test; 2 tests fail as on the base; no test shows the fix", 1},
		"skips a test":       {fix + "sed -i 's/def test_zero/import pytest\\n@pytest.mark.skip\\ndef test_zero/' tests/test_calc.py", "fixes 1 test and keeps 1 passing test; 1 test fails as on the base", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, log := b.judge(t, b.candidate(t, c.script))
			if v.Reason != c.reason || len(v.Weakens) != c.weakens {
				t.Errorf("%+v\n%s", v, log)
			}
		})
	}
}
