package swerex_test

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/swerex"
	"github.com/yudai-dev/yudai/internal/hostmachine"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

func TestMain(m *testing.M) {
	local.Stage()
	os.Exit(m.Run())
}

const token = "run-token"

// serve starts an endpoint in front of a machine.
func serve(t *testing.T, m agent.Machine, o swerex.Options) (*swerex.Server, string) {
	t.Helper()
	s := swerex.New(m, token, o)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return s, web.URL
}

// host is a machine without walls.
func host(t *testing.T) *hostmachine.Machine {
	t.Helper()
	m, err := hostmachine.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// need skips a test for want of something, or fails it where that is required.
func need(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("YUDAI_TEST_REQUIRE"), ","), what):
		t.Fatalf("%s is required: %v", what, err)
	default:
		t.Skipf("%s: %v", what, err)
	}
}

// box is a machine that is a real sandbox.
func box(t *testing.T) agent.Machine {
	t.Helper()
	_, err := exec.LookPath("bwrap")
	need(t, "bubblewrap", err)
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = t.TempDir(), true, 16
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the end: %v", err)
		}
	})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "rex", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return machine{sb, sb.(sandbox.Launcher)}
}

// machine is a sandbox as agents see it.
type machine struct {
	sandbox.Sandbox
	launcher sandbox.Launcher
}

func inSandbox(p agent.Program) sandbox.Command {
	return sandbox.Command{Argv: p.Argv, Shell: p.Shell, Env: p.Env, Path: p.Path, Dir: p.Dir, Stdin: p.Stdin, Timeout: p.Timeout}
}

func (m machine) Exec(ctx context.Context, p agent.Program, most int64) (agent.Ran, error) {
	var stdout, stderr bytes.Buffer
	c := inSandbox(p)
	c.Stdout, c.Stderr, c.MaxOutput = &stdout, &stderr, most
	res, err := m.Sandbox.Exec(ctx, c)
	return agent.Ran{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: res.ExitCode, TimedOut: res.TimedOut, Truncated: res.Truncated}, err
}

func (m machine) Put(ctx context.Context, f agent.File) error {
	return m.Sandbox.Put(ctx, f.Path, bytes.NewReader(f.Data), f.Mode)
}

func (m machine) Get(ctx context.Context, path string) (io.ReadCloser, error) {
	return m.Sandbox.Get(ctx, path)
}

func (m machine) Launch(ctx context.Context, p agent.Program) error {
	return m.launcher.Launch(ctx, inSandbox(p))
}

func (m machine) Launched(ctx context.Context) (bool, error) { return m.launcher.Launched(ctx) }

func (m machine) Halt(ctx context.Context) error { return m.launcher.Halt(ctx) }

func (m machine) Run(ctx context.Context, command string, timeout time.Duration) (agent.Output, error) {
	text, res, err := sandbox.Output(ctx, m.Sandbox, sandbox.Command{Shell: command, Timeout: timeout})
	return agent.Output{Text: text, ExitCode: res.ExitCode, TimedOut: res.TimedOut}, err
}

func (m machine) Tree(context.Context) (string, error) { return "", nil }
