package judge_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/test/require"
)

// TestSelectedTests: by the runner's own selection, or not at all.
func TestSelectedTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, format string
		files, names    string
		want            string
		some            bool // of the files the runner can be asked for some only
	}{
		"go": {
			"go test ./...", "go", "a_test.go b/c_test.go b/d_test.go", "m.TestA m/b.TestB/x.TestY m.TestA/z",
			"go test -run '^(TestA|TestB)$' ./. ./b", false,
		},
		"go, packages":        {"go test -race ./... 2>&1", "go", "b/c_test.go", "", "go test -race ./b 2>&1", false},
		"go, a directory":     {"cd x && go test ./...", "go", "x/b/c_test.go", "x/b.TestB", "cd x && go test -run '^(TestB)$' ./b", false},
		"go, beside it":       {"cd x && go test ./...", "go", "b/c_test.go", "", "", false},
		"go, its own choice":  {"go test -run Fast ./...", "go", "b_test.go", "", "", false},
		"go, named packages":  {"go test ./a ./b", "go", "b_test.go", "", "", false},
		"go, a workspace":     {`go list -m -f '{{.Dir}}/...' | xargs go test -json`, "go", "b_test.go", "", "", false},
		"go with data":        {"go test ./...", "go", "a_test.go testdata/x", "", "go test ./.", true},
		"pytest":              {"if [ -f v ]; then . v; fi; python3 -m pytest -q", "junit", "tests/test_a.py tests/test_b.py", "", "if [ -f v ]; then . v; fi; python3 -m pytest -q tests/test_a.py tests/test_b.py", false},
		"pytest, hostile":     {"pytest", "junit", "test_$(x) y.py", "", "pytest 'test_$(x) y.py'", false},
		"pytest, an option":   {"pytest", "junit", "-x/test_a.py", "", "", false},
		"pytest, a response":  {"pytest", "junit", "@x/test_a.py", "", "", false},
		"pytest, conftest":    {"pytest", "junit", "conftest.py", "", "", false},
		"something after it":  {"pytest && make check", "junit", "test_a.py", "", "", false},
		"elsewhere":           {"(cd x; true); pytest", "junit", "test_a.py", "", "", false},
		"node":                {"node --test-reporter=junit --import tsx --test 'test/**/*.js'", "junit", "test/a.test.js", "", "node --test-reporter=junit --import tsx --test test/a.test.js", false},
		"tsx":                 {"tsx --test test/*.test.ts", "junit", "test/a.test.ts", "", "tsx --test test/a.test.ts", false},
		"mocha":               {"mocha -r x --reporter xunit spec", "junit", "spec/a.js", "", "mocha -r x --reporter xunit spec/a.js", false},
		"mocha, words":        {"mocha --grep 'a b' spec", "junit", "spec/a.js", "", "", false},
		"jest":                {"jest --json", "jest", "src/a.test.ts", "", "jest --json --runTestsByPath src/a.test.ts", false},
		"vitest":              {"vitest run --reporter=junit", "junit", "src/a.test.ts", "", "vitest run --reporter=junit src/a.test.ts", false},
		"cargo":               {"cargo test --offline 2>&1", "cargo", "tests/own.rs", "tests/own.rs.a", "cargo test --test=own --offline 2>&1", false},
		"cargo, in a source":  {"cargo test --offline 2>&1", "cargo", "src/tests.rs", "", "", false},
		"maven":               {"mvn -B -o test", "junit", "src/test/java/a/BTest.java", "", "mvn -B -o test -Dtest=BTest -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false", false},
		"gradle":              {"sh ./gradlew --offline test --continue", "junit", "src/test/kotlin/BTest.kt", "", "sh ./gradlew --offline test --tests BTest --continue", false},
		"make":                {"make test", "exit", "test_a.py", "", "", false},
		"tape":                {"tape test/*.js", "tap", "test/a.js", "", "", false},
		"too many to be told": {"pytest", "junit", strings.Join(many(), " "), "", "", false},
	} {
		got, all := judge.Selected(solve.TestCommand{Command: c.command, Format: c.format}, strings.Fields(c.files), strings.Fields(c.names))
		if name == "pytest, hostile" {
			got, all = judge.Selected(solve.TestCommand{Command: c.command, Format: c.format}, []string{c.files}, nil)
		}
		if got != c.want || all != (c.want != "" && !c.some) {
			t.Errorf("%s: %q, %t", name, got, all)
		}
	}
}

func many() (out []string) {
	for i := range 100 {
		out = append(out, strings.Repeat("d/", i)+"test_"+strings.Repeat("b", 100)+".py")
	}
	return out
}

// TestOnlyNewTestsRunAgain with real runners: without the source, and to confirm.
func TestOnlyNewTestsRunAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		image           func(*testing.T) string
		needs           string
		base, candidate string
		files           []string
		proof, command  string
	}{
		"pytest": {
			withPytest, "", `mkdir tests; echo 'def two(): return 3' > m.py; printf 'import m\n\ndef test_old():\n    assert m\n' > tests/test_old.py; touch conftest.py`,
			`echo 'def two(): return 2' > m.py; printf 'import m\n\ndef test_two():\n    assert m.two() == 2\n' > tests/test_two.py`,
			[]string{"pyproject.toml", "tests/test_old.py"}, "tests.test_two.test_two", " tests/test_two.py",
		},
		"node": {
			func(*testing.T) string { return "" }, "node", `mkdir test; echo 'exports.two = () => 3' > m.js; echo '{"scripts": {"test": "node --test"}}' > package.json
printf 'const test = require("node:test")\ntest("old", () => {})\n' > test/old.test.js`,
			`echo 'exports.two = () => 2' > m.js; printf 'require("node:test")("two", () => require("assert").equal(require("../m").two(), 2))\n' > test/two.test.js`,
			[]string{"package.json", "test/old.test.js"}, "two", " test/two.test.js",
		},
		"cargo": {
			func(*testing.T) string { return "" }, "cargo", `mkdir src tests; printf '[package]\nname = "m"\nversion = "1.0.0"\n' > Cargo.toml; echo target > .gitignore
echo 'pub fn two() -> i32 { 3 }' > src/lib.rs; printf '#[test]\nfn old() {}\n' > tests/old.rs`,
			`echo 'pub fn two() -> i32 { 2 }' > src/lib.rs; printf '#[test]\nfn two() { assert_eq!(m::two(), 2) }\n' > tests/two.rs`,
			[]string{"Cargo.toml", "tests/old.rs"}, "tests/two.rs.two", " --test=two ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.needs != "" {
				require.Programs(t, c.needs, c.needs)
			}
			texts := map[string]string{}
			for _, f := range c.files {
				texts[f] = map[string]string{"package.json": `{"scripts": {"test": "node --test"}}`}[f]
			}
			setup, err := detect(texts)
			must(t, err)
			b := prepareFrom(t, c.image(t), c.base, setup.Test)
			v, log := b.judge(t, b.candidate(t, c.candidate))
			if !slices.Equal(v.ProofTests, []string{c.proof}) || !strings.Contains(v.ProofCommand, c.command) || strings.Count(log, v.ProofCommand+"\n") != 3 {
				t.Errorf("%+v\n%s", v, log)
			}
		})
	}
}

// TestAReproducersTestsRunAgainAlone: what they are run with on candidates is what ran them on the base.
func TestAReproducersTestsRunAgainAlone(t *testing.T) {
	t.Parallel()
	require.Programs(t, "node", "node")
	setup, err := detect(map[string]string{"package.json": `{"scripts": {"test": "node --test"}}`, "test/old.test.js": ""})
	must(t, err)
	b := prepare(t, `mkdir test; echo '{"scripts": {"test": "node --test"}}' > package.json
printf 'const test = require("node:test")\ntest("old", () => {})\n' > test/old.test.js`, setup.Test)
	in := b.candidate(t, `printf 'require("node:test")("new", () => require("assert").equal(3, 2))\n' > test/new.test.js`)
	in.Open = func(context.Context) (sandbox.Sandbox, func(), error) {
		sb := open(t, b.image)
		return sb, func() { must(t, sb.Close(context.Background())) }, nil
	}
	res, err := judge.Reproduce(t.Context(), in)
	must(t, err)
	v, log := res.Verdict, string(res.Log)
	if v.Outcome != solve.Passed || !slices.Equal(v.ProofTests, []string{"new"}) || !strings.HasSuffix(v.ProofCommand, " test/new.test.js") ||
		strings.Count(log, v.ProofCommand+"\n") != 1 {
		t.Errorf("%+v\n%s", v, log)
	}
}

// TestFilesOfTests: by the names that the runners report.
func TestFilesOfTests(t *testing.T) {
	t.Parallel()
	paths := strings.Fields(`root_test.go a/x_test.go a/y_test.go b/a/z_test.go test_a.py tests/test_a.py tests/test_ab.py src/a.test.ts b.test.ts
		tests/own.rs src/test/java/a/OwnTest.java app/src/test/kotlin/b/OtherTest.kt`)
	for test, want := range map[string]string{
		"m.TestA":                      "root_test.go", // the path of its package begins with the module's, which no file tells
		"example.com/m/a.TestA/x.y/z":  "a/x_test.go a/y_test.go",
		"example.com/m/b/a.TestA":      "b/a/z_test.go",
		"example.com/m/a [build]":      "a/x_test.go a/y_test.go",
		"tests.test_a.TestClass.test":  "tests/test_a.py",
		"test_a.test[a.b c [d]]":       "test_a.py",
		"tests.test_ab [collect]":      "tests/test_ab.py",
		"src/a.test.ts.a > b":          "src/a.test.ts",
		"src/a.test.ts [collect]":      "src/a.test.ts",
		"tests/own.rs.module::test":    "tests/own.rs",
		"a.OwnTest.works":              "src/test/java/a/OwnTest.java",
		"b.OtherTest.works(String)[1]": "app/src/test/kotlin/b/OtherTest.kt",
		"a suite > a title":            "",
	} {
		files := slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
			return strings.HasSuffix(p, "_test.go") != (strings.Contains(test, "TestA") || strings.Contains(test, "[build]"))
		})
		if got := strings.Join(judge.FilesOf(test, files), " "); got != want {
			t.Errorf("%s: %q, want %q", test, got, want)
		}
	}
}

// TestSecondLook with real runners: a test that fails each time, one that fails every other time, and one that
// fails after others only.
func TestSecondLook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		image          func(*testing.T) string
		files          []string // of which the runner is detected
		steady, others string   // make the repository, and more of it
		test           string   // begins the names
		command        string   // of the second look
	}{
		"go": {
			warmGo, []string{"go.mod", "a/a_test.go"},
			`mkdir a b; printf 'module m\n\ngo 1.21\n' > go.mod; printf 'package a\n\nimport "testing"\n\nfunc TestSteady(t *testing.T) { t.Error() }\n' > a/a_test.go
printf 'package b\n\nimport "testing"\n\nfunc TestFine(t *testing.T) {}\n' > b/b_test.go`,
			`cat > b/b_test.go <<'END'
package b

import (
	"os"
	"testing"
)

var dirty bool

func TestFine(t *testing.T) { dirty = true }

func TestAfter(t *testing.T) {
	if dirty {
		t.Error()
	}
}

func TestUnsteady(t *testing.T) {
	if os.Remove("/tmp/second") != nil {
		t.Error(os.WriteFile("/tmp/second", nil, 0o600))
	}
}
END`,
			"m/a.Test m/b.Test", "-run '^(TestSteady)$' ./a\n",
		},
		"pytest": {
			withPytest, []string{"pyproject.toml", "test_a.py"},
			`printf 'def test_Steady():\n    assert False\n' > test_a.py; printf 'def test_Fine():\n    pass\n' > test_b.py; touch pyproject.toml`,
			`cat > test_b.py <<'END'
import os
import sys

def test_Fine():
    pass

def test_After():
    assert "test_a" not in sys.modules or "test_0" not in sys.modules

def test_Unsteady():
    try:
        os.remove("/tmp/second")
    except FileNotFoundError:
        open("/tmp/second", "w").close()
        raise
END
printf 'def test_Zero():\n    pass\n' > test_0.py`,
			"test_a.test_ test_b.test_", " test_a.py\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts := map[string]string{}
			for _, f := range c.files {
				texts[f] = ""
			}
			setup, err := detect(texts)
			must(t, err)
			a, b, _ := strings.Cut(c.test, " ")
			one := prepareFrom(t, c.image(t), c.steady, setup.Test)
			if one.report.Tests[a+"Steady"] != judge.Fail || one.report.Tests[b+"Fine"] != judge.Pass || one.report.Canaries == nil ||
				strings.Count(one.log, "==> the base's tests") != 2 || !strings.Contains(one.log, c.command) {
				t.Errorf("%+v\n%s", one.report, one.log)
			}
			more := prepareFrom(t, c.image(t), c.steady+"\n"+c.others, setup.Test)
			is := more.report.Tests
			if is[a+"Steady"] != judge.Fail || is[b+"Fine"] != judge.Pass || is[b+"After"] != judge.Fail || is[b+"Unsteady"] != judge.Flaky || more.report.Runs != 3 {
				t.Errorf("%+v\n%s", more.report, more.log)
			}
		})
	}
}
