package judge_test

import (
	"archive/tar"
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// stub plays a sandbox: the test command gives res and out, the collection of
// reports gives reports.
type stub struct {
	sandbox.Sandbox
	res     sandbox.Result
	out     string
	reports []byte
	cut     bool
}

// Exec plays one command.
func (s stub) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	if c.Shell == "" { // a script of the judge's own
		if c.Stdout != nil {
			c.Stdout.Write(s.reports)
		}
		return sandbox.Result{Truncated: s.cut && c.Stdout != nil}, nil
	}
	c.Stdout.Write([]byte(s.out))
	return s.res, nil
}

// archive is a tar of one file.
func archive(t *testing.T, kind byte, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Typeflag: kind, Name: "/x.xml", Linkname: "/etc/passwd", Size: int64(len(body)), Mode: 0o644}))
	_, err := w.Write([]byte(body))
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

func TestRunTestsThatGiveNoVerdict(t *testing.T) {
	t.Parallel()
	const good = `<testsuite><testcase name="a"/></testsuite>`
	event := `{"Action":"run","Package":"p","Test":"T"}` + "\n" + `{"Action":"pass","Package":"p","Test":"T"}` + "\n"
	for name, c := range map[string]struct {
		stub stub
		cmd  solve.TestCommand
		want string
	}{
		"memory":          {stub{res: sandbox.Result{ExitCode: 137, OOM: true}}, exitTests, "ran out of memory"},
		"time":            {stub{res: sandbox.Result{ExitCode: -1, TimedOut: true}}, exitTests, "did not end within 7m0s"},
		"output":          {stub{res: sandbox.Result{Truncated: true}, out: event}, goTests, "printed more than 64 MiB"},
		"reports cut":     {stub{reports: archive(t, tar.TypeReg, good), cut: true}, junitTests, "report cannot be read"},
		"reports damaged": {stub{reports: []byte(strings.Repeat("no tar", 200))}, junitTests, "report cannot be read"},
		"no XML":          {stub{reports: archive(t, tar.TypeReg, "passed, honestly")}, junitTests, "report cannot be read"},
		"a link":          {stub{reports: archive(t, tar.TypeSymlink, "")}, junitTests, "no tests were found"},
		"fine":            {stub{reports: archive(t, tar.TypeReg, good)}, junitTests, ""},
		"much output":     {stub{res: sandbox.Result{Truncated: true}, reports: archive(t, tar.TypeReg, good)}, junitTests, ""},
		"go is fine":      {stub{out: event}, goTests, ""},
	} {
		r, _, err := judge.Trial{Test: c.cmd, Timeout: 7 * time.Minute}.RunTests(t.Context(), c.stub)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.want == "" && r.NoVerdict != "" || !strings.Contains(r.NoVerdict, c.want) {
			t.Errorf("%s: NoVerdict = %q, want %q", name, r.NoVerdict, c.want)
		}
	}
}

// noter notes the test command and where its report was looked for.
type noter struct {
	stub
	command, report string
}

func (n *noter) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if c.Shell != "" {
		n.command = c.Shell
	} else {
		n.report = c.Env["REPORT"]
	}
	return n.stub.Exec(ctx, c)
}

// TestReportsAreWhereNobodyKnows: no run has its report where another one had it, so that no patch can name the place.
func TestReportsAreWhereNobodyKnows(t *testing.T) {
	t.Parallel()
	const detected = "/workspace/keep/report/junit.xml"
	seen := map[string]bool{detected: true}
	for range 3 {
		n := noter{stub: stub{reports: archive(t, tar.TypeReg, `<testsuite><testcase name="a"/></testsuite>`)}}
		cmd := solve.TestCommand{Command: "pytest --junitxml=" + detected, Format: "junit", Report: detected}
		r, _, err := judge.Trial{Test: cmd}.RunTests(t.Context(), &n)
		if err != nil || r.Counts.Passed != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if seen[n.report] || n.command != "pytest --junitxml="+n.report {
			t.Errorf("%s, read from %s", n.command, n.report)
		}
		seen[n.report] = true
	}
}
