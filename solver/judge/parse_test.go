package judge_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

var (
	goTests    = solve.TestCommand{Command: "go test -json ./...", Format: "go"}
	junitTests = solve.TestCommand{Command: "run", Format: "junit", Report: "junit.xml"}
	exitTests  = solve.TestCommand{Command: "make test", Format: "exit"}
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseGo(t *testing.T) {
	t.Parallel()
	r, err := judge.Parse(goTests, 1, recorded(t, "gotest.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const m = "example.com/rec/"
	want := judge.Report{
		Tests: map[string]judge.Status{
			m + "bad [build]": judge.Fail, m + "good [build]": judge.Fail, m + "vet [build]": judge.Fail,
			m + "hang.TestQuick": judge.Pass, m + "hang.TestHang": judge.Fail,
			m + "mainfail.TestFine": judge.Pass, m + "mainfail [package]": judge.Fail,
			m + "panics.TestBefore": judge.Pass, m + "panics.TestPanics": judge.Fail,
			m + "subs.TestTable": judge.Fail, m + "subs.TestTable/one": judge.Fail,
			m + "subs.TestTable/two_words": judge.Pass, m + "subs.TestTable/a/b": judge.Pass,
		},
		Counts: solve.Counts{Passed: 5, Failed: 8, Exit: 1},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

func TestParseGoBetweenOtherLines(t *testing.T) {
	t.Parallel()
	event := func(action, pkg, test, more string) string {
		return fmt.Sprintf(`{"Action":%q,"Package":%q,"Test":%q%s}`+"\n", action, pkg, test, more)
	}
	out := "go: downloading example.com/x v1.0.0\n" + event("start", "p", "", "") + event("run", "p", "TestA", "") +
		"{not json\n{\"json\":\"of another kind\"}\nnull\n" + strings.Repeat("x", 3<<20) + "\n" +
		event("output", "p", "TestA", `,"Output":"FAIL\tq [build failed]\n"`) + event("pass", "p", "TestA", "") +
		event("run", "p", "TestS", "") + event("skip", "p", "TestS", "") + event("pass", "p", "", "") +
		// Before Go 1.24 a build failure is told in the output only.
		"# q\nq.go:1: no\n" + event("output", "q", "", `,"Output":"FAIL\tq [build failed]\n"`) + event("fail", "q", "", "") +
		event("output", "s", "", `,"Output":"FAIL\ts [setup failed]\n"`) + event("fail", "s", "", "")
	r, err := judge.Parse(goTests, 1, []byte(out), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]judge.Status{"p.TestA": judge.Pass, "p.TestS": judge.Skip, "q [build]": judge.Fail, "s [build]": judge.Fail}
	if diff := cmp.Diff(want, r.Tests); diff != "" {
		t.Error(diff)
	}
}

func TestParseJUnit(t *testing.T) {
	t.Parallel()
	const p, f, s = judge.Pass, judge.Fail, judge.Skip
	for file, want := range map[string]map[string]judge.Status{
		"pytest.xml": {
			"tests.test_b [collect]": f, "tests.test_a.test_ok": p, "tests.test_a.test_bad": f, "tests.test_a.test_later": s, "tests.test_a.test_xfail": s,
			"tests.test_a.test_param[1]": p, "tests.test_a.test_param[a b]": p, "tests.test_a.TestK.test_in_class": p, "tests.test_a.test_fixture": f,
		},
		"node.xml": {"ok": p, "bad": f, "later": s, "todo one": s, "suite.inner": p, "suite.inner bad": f},
		"surefire.xml": {
			"org.example.ShopTest.sums": p, "org.example.ShopTest.rounds": f, "org.example.ShopTest.later": s, "org.example.ShopTest.throws": f,
		},
	} {
		r, err := judge.Parse(junitTests, 1, nil, [][]byte{recorded(t, file)})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if diff := cmp.Diff(want, r.Tests); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestParseJUnitJoinsFiles(t *testing.T) {
	t.Parallel()
	one := `<testsuite><testcase classname="c" name="a"/><testcase classname="c" name="twice"/></testsuite>`
	two := `<testsuites><testsuite><testcase classname="c" name="b"/><testcase classname="c" name="twice"><failure/></testcase></testsuite></testsuites>`
	r, err := judge.Parse(junitTests, 0, nil, [][]byte{[]byte(one), []byte(two), nil})
	if err != nil {
		t.Fatal(err)
	}
	want := judge.Report{
		Tests:  map[string]judge.Status{"c.a": judge.Pass, "c.b": judge.Pass, "c.twice": judge.Fail},
		Counts: solve.Counts{Passed: 2, Failed: 1},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

func TestParseJUnitRefusesHostileFiles(t *testing.T) {
	t.Parallel()
	many := func() []byte {
		var b bytes.Buffer
		b.WriteString("<testsuite>")
		for i := range 210_000 {
			fmt.Fprintf(&b, `<testcase name="%d"/>`, i)
		}
		b.WriteString("</testsuite>")
		return b.Bytes()
	}
	for name, data := range map[string][]byte{
		"deep":         []byte(strings.Repeat("<testsuite>", 100_000)),
		"many":         many(),
		"cut":          []byte(`<testsuite><testcase name="a"/>`),
		"no XML":       []byte("hello <"),
		"other XML":    []byte("<html></html>"),
		"text":         []byte("all tests passed"),
		"too many end": []byte("<testsuite></testsuite></testsuite>"),
		"encoding":     []byte(`<?xml version="1.0" encoding="UTF-7"?><testsuite/>`),
		"entities":     []byte(`<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>`),
	} {
		if r, err := judge.Parse(junitTests, 0, nil, [][]byte{data}); err == nil {
			t.Errorf("%s: read as %v", name, r.Counts)
		}
	}
	long := fmt.Sprintf(`<testsuite><testcase name="%s"/></testsuite>`, strings.Repeat("x", 100_000))
	r, err := judge.Parse(junitTests, 0, nil, [][]byte{[]byte(long)})
	if err != nil {
		t.Fatal(err)
	}
	for name := range r.Tests {
		if len(name) > 1000 {
			t.Errorf("a name of %d bytes was kept", len(name))
		}
	}
}

// What cannot be judged says why and is neither a pass nor a failure.
func TestParseNoVerdict(t *testing.T) {
	t.Parallel()
	start := `{"Action":"start","Package":"p"}` + "\n"
	skip := `{"Action":"run","Package":"p","Test":"T"}` + "\n" + `{"Action":"skip","Package":"p","Test":"T"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n"
	suite := func(body string) [][]byte { return [][]byte{[]byte("<testsuite>" + body + "</testsuite>")} }
	cases := []struct {
		name  string
		cmd   solve.TestCommand
		exit  int
		out   string
		junit [][]byte
		want  string
		empty bool
	}{
		{"go: not found", goTests, 127, "bash: go: command not found", nil, "could not be run (exit code 127", false},
		{"go: not executable", goTests, 126, "", nil, "could not be run (exit code 126", false},
		{"go: no test files", goTests, 0, start + `{"Action":"skip","Package":"p"}` + "\n", nil, "no tests were found", true},
		{"go: broken module", goTests, 1, "go: errors parsing go.mod\n", nil, "exit code 1 and reported no test", false},
		{"go: all skipped", goTests, 0, start + skip, nil, "every test was skipped", true},
		{"go: killed", goTests, 137, start + `{"Action":"run","Package":"p","Test":"T"}` + "\n", nil, "ended before all", false},
		{"pytest: nothing collected", junitTests, 5, "", suite(""), "no tests were found", true},
		{"pytest: nothing collected, no file", junitTests, 5, "", nil, "no tests were found", true},
		{"pytest: usage", junitTests, 4, "", nil, "exit code 4 and reported no test", false},
		{"junit: crash", junitTests, 139, "", nil, "exit code 139 and reported no test", false},
		{"junit: empty and fine", junitTests, 0, "", suite(""), "no tests were found", true},
		{"junit: all skipped", junitTests, 0, "", suite(`<testcase name="a"><skipped/></testcase>`), "every test was skipped", true},
		{"exit: not found", exitTests, 127, "", nil, "could not be run (exit code 127", false},
		{"make: not found", exitTests, 2, "make: foo: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", nil, "make did not find", false},
		{"npm: no test script", exitTests, 1, "Error: no test specified\n", nil, "no tests were found", true},
		{"node: no tests", exitTests, 0, "ℹ tests 0\nℹ pass 0\n", nil, "no tests were found", true},
		{"jest: no tests", exitTests, 1, "No tests found, exiting with code 1\n", nil, "no tests were found", true},
		{"cargo: no tests", exitTests, 0, "test result: ok. 0 passed; 0 failed; 0 ignored\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", nil, "no tests were found", true},
	}
	for _, c := range cases {
		r, err := judge.Parse(c.cmd, c.exit, []byte(c.out), c.junit)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.Contains(r.NoVerdict, c.want) || r.Empty != c.empty || r.Counts.Exit != c.exit {
			t.Errorf("%s: %+v, want NoVerdict with %q, Empty %v", c.name, r, c.want, c.empty)
		}
	}
	for _, c := range []struct {
		exit int
		out  string
	}{
		{0, "ok"}, {1, "FAIL"}, {2, "make: *** [Makefile:2: test] Error 1\n"},
		{0, "test result: ok. 0 passed; 0 failed\ntest result: ok. 2 passed; 0 failed\n"}, {101, "test result: FAILED. 0 passed; 1 failed\n"},
	} {
		if r, err := judge.Parse(exitTests, c.exit, []byte(c.out), nil); err != nil || r.NoVerdict != "" || r.Counts.Exit != c.exit {
			t.Errorf("exit %d %q: %+v, %v", c.exit, c.out, r, err)
		}
	}
	if _, err := judge.Parse(solve.TestCommand{Format: "yaml"}, 0, nil, nil); err == nil {
		t.Error("an unknown format was read")
	}
}

func TestReportEncoding(t *testing.T) {
	t.Parallel()
	want, err := judge.Parse(goTests, 1, recorded(t, "gotest.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := judge.DecodeReport(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := judge.DecodeReport([]byte("{")); err == nil {
		t.Error("half a report was decoded")
	}
}

// check holds for every report, whatever was read.
func check(t *testing.T, r judge.Report, err error) {
	t.Helper()
	if err != nil {
		return
	}
	if got := r.Counts.Passed + r.Counts.Failed + r.Counts.Skipped; got != len(r.Tests) {
		t.Errorf("%d tests are counted as %d", len(r.Tests), got)
	}
	if r.Counts.Passed+r.Counts.Failed == 0 && r.NoVerdict == "" {
		t.Error("a report without results is taken for a verdict")
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := judge.DecodeReport(data); err != nil {
		t.Error(err)
	}
}

func FuzzParseGo(f *testing.F) {
	f.Add(0, recorded(f, "gotest.jsonl"))
	f.Add(1, []byte(`{"Action":"fail","Package":"p"}`))
	f.Fuzz(func(t *testing.T, exit int, data []byte) {
		r, err := judge.Parse(goTests, exit, data, nil)
		check(t, r, err)
	})
}

func FuzzParseJUnit(f *testing.F) {
	for _, name := range []string{"pytest.xml", "node.xml", "surefire.xml"} {
		f.Add(1, recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, exit int, data []byte) {
		r, err := judge.Parse(junitTests, exit, nil, [][]byte{data})
		check(t, r, err)
	})
}
