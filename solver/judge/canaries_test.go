package judge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// Code that runs in the tests' process and lies about them.
func TestCanariesInGo(t *testing.T) {
	t.Parallel()
	b := prepareFrom(t, warmGo(t), goModule, solve.TestCommand{Command: "go test ./...", Format: "go", Source: "config"})
	if b.report.Canaries == nil || len(b.report.Tests) != 4 {
		t.Fatalf("base: %+v", b.report)
	}
	const forge = `printf '\nfunc init() {\n\tif strings.HasSuffix(os.Args[0], ".test") {\n\t\tos.Stdout.WriteString("\\x16=== RUN   TestSum\\n\\x16--- PASS: TestSum (0.00s)\\n\\x16=== RUN   TestZero\\n\\x16--- PASS: TestZero (0.00s)\\n\\x16PASS\\n")\n\t\tos.Exit(0)\n\t}\n}\n' >> sum/sum.go; ` +
		`sed -i 's/^package sum/&\nimport (\n"os"\n"strings"\n)/' sum/sum.go`
	for name, c := range map[string]struct{ script, tampering string }{
		"forged results":                 {forge, "tests that must run are missing from the report"},
		"fix":                            {"sed -i 's/a - b/a + b/' sum/sum.go", ""},
		"fix with a new package":         {"sed -i 's/a - b/a + b/' sum/sum.go; mkdir more; printf 'package more\n' > more/more.go", ""},
		"a test that ends the rest":      {"sed -i 's/return a - b/panic(a)/' sum/sum.go", ""},
		"a package that cannot be built": {"echo '(' >> sum/sum.go", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, log := b.judge(t, b.candidate(t, c.script))
			if v.Tampering != c.tampering || c.tampering != "" && v.Outcome != solve.Failed {
				t.Errorf("%+v\n%s", v, log)
			}
		})
	}
}

// Canaries are put where their failure stops nothing, and only there.
func TestCanaryPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, format string
		paths           string
		want            string
	}{
		"go":                     {"go test ./...", "go", "a.go a_test.go b/b.go b/c_test.go b/d_test.go", "b/*_test.go"},
		"pytest":                 {"python3 -m pytest -q", "junit", "tests/test_a.py tests/conftest.py tests/unit/test_b.py tests/unit/test_c.py", "tests/unit/test_*.py"},
		"pytest, the other name": {"pytest", "junit", "a/b_test.py", "a/*_test.py"},
		"jest":                   {"jest --ci --json", "jest", "src/a.js src/a.test.js src/b.test.ts src/c.test.ts", "src/*.test.ts"},
		"node":                   {"node --test-reporter=junit --test test/*.js", "junit", "index.js test/a.js", "test/*.js"},
		"cargo":                  {"cargo test --offline --no-fail-fast 2>&1", "cargo", "src/lib.rs src/a.rs tests/a.rs", "src/lib.rs"},
		"maven":                  {"mvn -B -o test -Dmaven.test.failure.ignore=true", "junit", "src/main/java/a/A.java src/test/java/a/ATest.java", "src/test/java/a/*Test.java"},
		"maven stops":            {"mvn test", "junit", "src/test/java/a/ATest.java", ""},
		"pytest stops":           {"pytest -x", "junit", "test_a.py", ""},
		"jest stops":             {"jest --bail", "jest", "a.test.js", ""},
		"something comes after":  {"go test ./... && go test ./x", "go", "a_test.go", ""},
		"an unknown runner":      {"./run", "junit", "test_a.py", ""},
		"only the exit code":     {"pytest", "exit", "test_a.py", ""},
		"no tests":               {"pytest", "junit", "a.py", ""},
	} {
		if got := judge.CanaryPath(solve.TestCommand{Command: c.command, Format: c.format}, strings.Fields(c.paths)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Where canaries disturb the base's tests they are left out, and nothing of them is kept.
func TestCanariesThatDisturb(t *testing.T) {
	t.Parallel()
	const other = "tests.test_files.test_number"
	test := solve.TestCommand{Command: "python3 -m pytest -q --junitxml=r.xml", Format: "junit", Report: "r.xml", Source: "config"}
	b := prepareFrom(t, withPytest(t), `mkdir tests
printf 'import os\n\ndef test_number():\n    assert len([f for f in os.listdir("tests") if f.endswith(".py")]) == 1\n' > tests/test_files.py`, test)
	if diff := cmp.Diff(map[string]judge.Status{other: judge.Pass}, b.report.Tests); diff != "" || b.report.Canaries != nil {
		t.Errorf("%+v %s", b.report.Canaries, diff)
	}
	stops := prepareFrom(t, withPytest(t), `mkdir tests; printf '[pytest]\naddopts = -x\n' > pytest.ini
printf 'def test_a():\n    pass\n' > tests/test_files.py`, test)
	if stops.report.Canaries != nil || len(stops.report.Tests) != 1 || stops.report.Counts.Exit != 0 {
		t.Errorf("%+v", stops.report)
	}
}

// TestChanceIsNotTheCanariesDoing: a test that fails once, in the run that has canaries, is flaky, and the base keeps its canaries.
func TestChanceIsNotTheCanariesDoing(t *testing.T) {
	t.Parallel()
	test := solve.TestCommand{Command: "python3 -m pytest -q --junitxml=r.xml", Format: "junit", Report: "r.xml", Source: "config"}
	b := prepareFrom(t, withPytest(t), `mkdir tests
printf 'import os\n\ndef test_once():\n    n = os.path.expanduser("~/ran")\n    ran = os.path.exists(n)\n    open(n, "w")\n    assert ran\n\ndef test_other():\n    pass\n' > tests/test_once.py`, test)
	want := map[string]judge.Status{"tests.test_once.test_once": judge.Flaky, "tests.test_once.test_other": judge.Pass}
	if diff := cmp.Diff(want, b.report.Tests); diff != "" || b.report.Canaries == nil {
		t.Errorf("canaries %v %s\n%s", b.report.Canaries, diff, b.log)
	}
}
