package judge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

func TestParseTAP(t *testing.T) {
	t.Parallel()
	type tests = map[string]judge.Status
	for name, c := range map[string]struct {
		exit int
		out  string
		want tests
	}{
		"tape: the test is what counts": {1, `TAP version 13
# adds numbers
ok 1 should be strictly equal
not ok 2 should be strictly equal
  ---
    operator: equal
    # not a test
    ok 9 - neither
  ...
ok 3 is a number
# parses
hello from the test
ok 4 (unnamed assert)
# SKIP on other systems
# later
ok 5 one # SKIP
ok 6
1..6
# tests 6
# pass  2
# fail  1
`, tests{"adds numbers": judge.Fail, "parses": judge.Pass, "on other systems": judge.Skip, "later": judge.Pass}},
		"tape: an exception ends the run": {1, "TAP version 13\n# first\nok 1 fine\n# second\nok 2 fine\n", tests{"first": judge.Pass, "second": judge.Fail}},
		"ava, node: a line per test": {1, `TAP version 14
# Subtest: outer
    # Subtest: inner
    ok 1 - inner
      ---
      duration_ms: 1
      ...
    not ok 2 - other # TODO later
    1..2
ok 1 - outer
not ok 2 - alone
1..2
# tests 2
`, tests{"outer > inner": judge.Pass, "outer > other": judge.Skip, "outer": judge.Pass, "alone": judge.Fail}},
		"qunit: no dash and no comment": {0, "TAP version 13\nok 1 math > adds\r\nok 2 math > divides\r\n1..2\n", tests{"math > adds": judge.Pass, "math > divides": judge.Pass}},
	} {
		r, err := judge.Parse(solve.TestCommand{Command: "tape", Format: "tap"}, c.exit, []byte(c.out), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, tests(r.Tests)); diff != "" || r.NoVerdict != "" {
			t.Errorf("%s: %q %s", name, r.NoVerdict, diff)
		}
	}
}

func TestParseTAPWithoutTests(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"TAP version 13\n1..0\n# tests 0\n": "no tests were found",
		"SyntaxError: Unexpected token\n":   "ended with exit code 1 and reported no test",
	} {
		exit := 0
		if strings.Contains(want, "code 1") {
			exit = 1
		}
		r, err := judge.Parse(solve.TestCommand{Command: "tape", Format: "tap"}, exit, []byte(out), nil)
		if err != nil || !strings.Contains(r.NoVerdict, want) {
			t.Errorf("%q: %+v, %v", out, r, err)
		}
	}
}

func TestParseJest(t *testing.T) {
	t.Parallel()
	cmd := solve.TestCommand{Command: "jest --json", Format: "jest", Report: "jest.json"}
	r, err := judge.Parse(cmd, 1, nil, [][]byte{[]byte(`{"numFailedTests":1,"testResults":[
		{"name":"/workspace/repo/a.test.js","status":"failed","assertionResults":[
			{"ancestorTitles":["sum","of two"],"title":"adds","fullName":"sum of two adds","status":"passed"},
			{"ancestorTitles":[],"title":"alone","fullName":"alone","status":"failed"},
			{"ancestorTitles":[],"title":"later","fullName":"later","status":"todo"}]},
		{"name":"/workspace/repo/broken.test.js","status":"failed","message":"SyntaxError","assertionResults":[]}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]judge.Status{
		"a.test.js.sum > of two > adds": judge.Pass, "a.test.js.alone": judge.Fail, "a.test.js.later": judge.Skip, "broken.test.js [collect]": judge.Fail,
	}
	if diff := cmp.Diff(want, r.Tests); diff != "" {
		t.Error(diff)
	}
	if _, err := judge.Parse(cmd, 1, nil, [][]byte{[]byte(`{"testResults":`)}); err == nil {
		t.Error("half a file was read")
	}
}

// A program that prints more results than it announced has printed lines of somebody else.
func TestCargoCountsItsResults(t *testing.T) {
	t.Parallel()
	const begin = "     Running unittests src/lib.rs (target/debug/deps/x)\n\nrunning 2 tests\ntest a ... ok\n"
	for name, c := range map[string]struct {
		output string
		extra  bool
	}{
		"as announced":             {begin + "test b ... FAILED\n", false},
		"one too many":             {begin + "test b ... ok\ntest c ... ok\n", true},
		"announced again":          {begin + "running 9 tests\ntest b ... ok\n", true},
		"two programs":             {begin + "test b ... ok\n     Running tests/c.rs (target/debug/deps/c)\n\nrunning 1 test\ntest c ... ok\n", false},
		"examples in two parts":    {"   Doc-tests x\n\nrunning 1 test\ntest src/lib.rs - a (line 1) ... ok\n\nrunning 1 test\ntest src/lib.rs - b (line 9) ... ok\n", false},
		"output of a failed test":  {begin + "test b ... FAILED\n\nfailures:\n\n---- b stdout ----\nrunning 1 test\ntest x ... ok\n", false},
		"a run that ends too soon": {begin, false},
	} {
		r, err := judge.Parse(solve.TestCommand{Command: "cargo test 2>&1", Format: "cargo"}, 0, []byte(c.output), nil)
		if err != nil || r.Extra != c.extra {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestParseCargo(t *testing.T) {
	t.Parallel()
	r, err := judge.Parse(solve.TestCommand{Command: "cargo test 2>&1", Format: "cargo"}, 101, []byte(`   Compiling x v0.1.0 (/workspace/repo)
error: could not compile `+"`x`"+` (test "broken") due to 1 previous error
     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)

running 3 tests
test tests::adds ... ok
test tests::panics - should panic ... FAILED
test tests::slow ... ignored, takes an hour
     Running tests/it.rs (target/debug/deps/it-0123456789abcdef)
test tests::adds ... printed without capture
ok
test loud ... printed FAILED words, then ok
   Doc-tests x
test src/lib.rs - sum (line 12) ... ok

test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]judge.Status{
		"x [build]": judge.Fail, "src/lib.rs.tests::adds": judge.Pass, "src/lib.rs.tests::panics": judge.Fail, "src/lib.rs.tests::slow": judge.Skip,
		"tests/it.rs.loud": judge.Pass, "x.src/lib.rs - sum": judge.Pass,
	}
	if diff := cmp.Diff(want, r.Tests); diff != "" {
		t.Error(diff)
	}
}
