package judge_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/tree"
	"github.com/yudai-dev/yudai/test/require"
)

func TestMain(m *testing.M) {
	local.Stage()
	code := m.Run()
	if d, err := driver(); err == nil {
		os.RemoveAll(d.dir)
	}
	os.Exit(code)
}

// boxes is the driver of all tests here.
type boxes struct {
	*local.Driver
	dir   string
	count atomic.Int64
}

var driver = sync.OnceValues(func() (*boxes, error) {
	dir, err := os.MkdirTemp("", "yudai-judge-*")
	if err != nil {
		return nil, err
	}
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = dir, os.Geteuid() != 0, 64
	d, err := local.New(c, zerolog.Nop())
	if err == nil {
		err = d.Check(context.Background())
	}
	return &boxes{Driver: d, dir: dir}, err
})

// open makes a sandbox with the local driver, empty or from a base.
func open(t *testing.T, from string) sandbox.Sandbox {
	t.Helper()
	require.Daily(t)
	d, err := driver()
	require.Need(t, "bubblewrap", err)
	sb, err := d.Open(context.Background(), sandbox.Spec{Name: fmt.Sprint("j", d.count.Add(1)), From: from})
	must(t, err)
	t.Cleanup(func() { must(t, sb.Close(context.Background())) })
	return sb
}

// base is a repository whose tests have been run, and its frozen sandbox.
type base struct {
	work   string // the repository on this machine
	image  string
	test   solve.TestCommand
	report judge.Report
	log    string // of the base's tests
}

// prepare makes the repository that script makes, and its base, as the solver does.
func prepare(t *testing.T, script string, test solve.TestCommand) base {
	t.Helper()
	return prepareFrom(t, "", script, test)
}

// prepareFrom starts from an image that holds no repository yet.
func prepareFrom(t *testing.T, image, script string, test solve.TestCommand) base {
	t.Helper()
	b := base{work: t.TempDir(), test: test}
	host(t, b.work, "git init -q -b main . && "+script+"\ngit add -A -f && git commit -q -m base")
	m, err := git.New(filepath.Join(t.TempDir(), "git")).Mirror(t.Context(), "1", b.work, git.Auth{})
	must(t, err)
	var pack bytes.Buffer
	must(t, m.Pack(t.Context(), host(t, b.work, "git rev-parse HEAD"), 0, &pack))
	sb := open(t, image)
	must(t, tree.LayOut(t.Context(), sb, &pack))
	report, log, err := judge.RunBase(t.Context(), sb, judge.Trial{Test: test, Timeout: 2 * time.Minute, Tries: 2})
	must(t, err)
	if report.NoVerdict != "" {
		t.Fatalf("the base's tests: %s\n%s", report.NoVerdict, log)
	}
	d, err := driver()
	must(t, err)
	b.image, err = d.Freeze(t.Context(), sb)
	must(t, err)
	b.report, b.log = report, string(log)
	return b
}

// candidate is the patch that script makes of the base.
func (b base) candidate(t *testing.T, script string) judge.Input {
	t.Helper()
	work := filepath.Join(t.TempDir(), "work")
	host(t, ".", "cp -a '"+b.work+"' '"+work+"'")
	diff := host(t, work, script+"\ngit add -A -f && git diff --cached --binary --full-index -M")
	if diff != "" {
		diff += "\n"
	}
	changes, err := patch.Parse([]byte(diff))
	must(t, err)
	return judge.Input{
		Patch: []byte(diff), Changes: changes, Base: b.report,
		Trial: judge.Trial{Test: b.test, Timeout: time.Minute, MaxOutput: 1 << 20, Tries: 2},
	}
}

// judge gives the verdict on a candidate in forks of the base.
func (b base) judge(t *testing.T, in judge.Input) (solve.Verdict, string) {
	t.Helper()
	in.Open = func(context.Context) (sandbox.Sandbox, func(), error) {
		sb := open(t, b.image)
		return sb, func() { must(t, sb.Close(context.Background())) }, nil
	}
	res, err := judge.Judge(t.Context(), in)
	if err != nil {
		t.Fatalf("%v\n%s", err, res.Log)
	}
	return res.Verdict, string(res.Log)
}

// host runs a shell script on this machine.
func host(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
