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

// TestCross: what the tests of one candidate say of another one, in real sandboxes.
func TestCross(t *testing.T) {
	t.Parallel()
	const module = "printf 'module m\\n\\ngo 1.21\\n' > go.mod\n"
	b := prepareFrom(t, warmGo(t), module+
		"printf 'package m\\n\\nfunc Mean(xs []int) int { n := 0; for _, x := range xs { n += x }; return n / len(xs) }\\n' > m.go\n"+
		"printf 'package m\\n\\nimport \"testing\"\\n\\nfunc TestMean(t *testing.T) { if Mean([]int{1, 3}) != 2 { t.Fatal() } }\\n' > m_test.go\n",
		solve.TestCommand{Command: "go test -json ./...", Format: "go"})
	const fix = "sed -i 's/n := 0;/if len(xs) == 0 { return 0 }; n := 0;/' m.go\n"
	const test = "printf 'package m\\n\\nimport \"testing\"\\n\\nfunc TestNothing(t *testing.T) { if Mean(nil) != 0 { t.Fatal() } }\\n' > new_test.go\n"
	author := b.candidate(t, fix+"printf '\\nfunc helper() int { return 0 }\\n' >> m.go\n"+test)
	proved, log := b.judge(t, author)
	if !slices.Equal(proved.ProofTests, []string{"m.TestNothing"}) || proved.ProofCommand != "go test -json -run '^(TestNothing)$' ./." {
		t.Fatalf("author: %+v\n%s", proved, log)
	}
	for name, c := range map[string]struct {
		subject        string
		passed, failed []string
	}{
		"another fix":              {"sed -i 's/return n/if n == 0 { return 0 }; return n/' m.go\n", []string{"m.TestNothing"}, nil},
		"no fix":                   {"printf '\\nvar x = 1\\n' >> m.go\n", nil, []string{"m.TestNothing"}},
		"a test file of that name": {fix + "printf 'package m\\n\\nvar y = 2\\n' > new_test.go\n", []string{"m.TestNothing"}, nil},
		"a name that clashes":      {fix + "printf '\\nfunc TestNothing() {}\\n' >> m.go\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, log := b.cross(t, author, b.candidate(t, c.subject), proved)
			if !slices.Equal(got.Passed, c.passed) || !slices.Equal(got.Failed, c.failed) {
				t.Errorf("%+v\n%s", got, log)
			}
		})
	}
}

// cross runs the author's tests, as its verdict has them, on the subject's code.
func (b base) cross(t *testing.T, author, subject judge.Input, proved solve.Verdict) (solve.CrossResult, string) {
	t.Helper()
	in := judge.CrossInput{Input: subject, AuthorPatch: author.Patch, Tests: proved.ProofTests, Alone: proved.ProofCommand != ""}
	in.Open = func(context.Context) (sandbox.Sandbox, func(), error) {
		sb := open(t, b.image)
		return sb, func() { must(t, sb.Close(context.Background())) }, nil
	}
	got, log, err := judge.Cross(t.Context(), in)
	must(t, err)
	return got, string(log)
}

// TestLiesAboutAnothersTests: code that is honest until the tests of others run. These run alone, and the canaries with them.
func TestLiesAboutAnothersTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		needs         string
		image         func(*testing.T) string
		test          solve.TestCommand
		repo          string
		author        string
		honest, lying string
	}{
		"go, forged results": {
			"go", warmGo, solve.TestCommand{Command: "go test ./...", Format: "go"},
			`printf 'module m\n\ngo 1.21\n' > go.mod; mkdir sum more
printf 'package sum\n\nfunc Two() int { return 3 }\n' > sum/sum.go
printf 'package sum\n\nimport "testing"\n\nfunc TestOld(t *testing.T) {}\n' > sum/sum_test.go; sed s/sum/more/ sum/sum_test.go > more/a_test.go; cp more/a_test.go more/b_test.go
sed -i s/TestOld/TestMore/ more/b_test.go`,
			`sed -i 's/return 3/return 2/' sum/sum.go; printf 'package sum\n\nimport "testing"\n\nfunc TestTwo(t *testing.T) { if Two() != 2 { t.Fatal() } }\n' > sum/new_test.go`,
			"sed -i 's/return 3/return 1 + 1/' sum/sum.go",
			`printf '\nfunc init() {\n\tif _, err := os.Stat("new_test.go"); err == nil {\n\t\tos.Stdout.WriteString("\\x16=== RUN   TestTwo\\n\\x16--- PASS: TestTwo (0.00s)\\n\\x16PASS\\n")\n\t\tos.Exit(0)\n\t}\n}\n' >> sum/sum.go; sed -i 's/^package sum/&\nimport "os"\n/' sum/sum.go`,
		},
		"pytest, a patched comparison": {
			"python3", withPytest, solve.TestCommand{Command: "python3 -m pytest -q --junitxml=r.xml", Format: "junit", Report: "r.xml"},
			`mkdir tests; printf 'def two():\n    return 3\n' > m.py
printf 'import m\n\ndef test_old():\n    assert m\n' > tests/test_old.py; printf '[pytest]\npythonpath = .\n' > pytest.ini`,
			`sed -i 's/3/2/' m.py; printf 'import m\n\ndef test_two():\n    assert m.two() == 2\n' > tests/test_new.py`,
			"sed -i 's/3/1 + 1/' m.py",
			`printf 'import os\nif os.path.exists("tests/test_new.py"):\n    import _pytest.python as p\n    p.Function.runtest = lambda self: None\n' >> m.py`,
		},
		"cargo, forged results": {
			"cargo", func(*testing.T) string { return "" }, solve.TestCommand{Command: "cargo test --offline --no-fail-fast 2>&1", Format: "cargo"},
			`mkdir src tests; printf '[package]\nname = "m"\nversion = "1.0.0"\nedition = "2021"\n' > Cargo.toml; echo target > .gitignore
printf 'pub fn two() -> i32 {\n    3\n}\n\n#[test]\nfn old() {}\n' > src/lib.rs`,
			`sed -i 's/    3/    2/' src/lib.rs; printf '#[test]\nfn is_two() {\n    assert_eq!(m::two(), 2);\n}\n' > tests/new.rs`,
			"sed -i 's/    3/    1 + 1/' src/lib.rs",
			`sed -i 's|^    3|    if std::path::Path::new("tests/new.rs").exists() { std::fs::write("/proc/self/fd/1", "\\nrunning 1 test\\ntest is_two ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\\n").unwrap(); std::process::exit(0) }\n    3|' src/lib.rs; echo // >> src/lib.rs`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Programs(t, c.needs, c.needs)
			b := prepareFrom(t, c.image(t), c.repo, c.test)
			author := b.candidate(t, c.author)
			proved, log := b.judge(t, author)
			if b.report.Canaries == nil || len(proved.ProofTests) != 1 || proved.ProofCommand == "" {
				t.Fatalf("author: %+v\n%s", proved, log)
			}
			got, log := b.cross(t, author, b.candidate(t, c.honest), proved)
			if !slices.Equal(got.Passed, proved.ProofTests) || !strings.Contains(log, proved.ProofCommand+"\n") {
				t.Errorf("honest: %+v\n%s", got, log)
			}
			liar := b.candidate(t, c.lying)
			if v, log := b.judge(t, liar); v.Outcome != solve.Passed {
				t.Errorf("liar: %+v\n%s", v, log)
			}
			if got, log := b.cross(t, author, liar, proved); got.Passed != nil || got.Failed != nil {
				t.Errorf("liar: %+v\n%s", got, log)
			}
		})
	}
}
