package hostmachine_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/hostmachine"
)

func setup(t *testing.T) *hostmachine.Machine {
	t.Helper()
	m, err := hostmachine.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Halt(context.Background()) })
	return m
}

func TestPathsReadAsInASandbox(t *testing.T) {
	t.Parallel()
	m := setup(t)
	script := "#!/bin/bash\ncd /workspace/repo && pwd\necho $WHERE >/workspace/agent/out\n"
	if err := m.Put(t.Context(), "/workspace/agent/x.sh", strings.NewReader(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ran, err := sandbox.Capture(t.Context(), m, sandbox.Command{Argv: []string{"x.sh"}, Path: []string{"/workspace/agent"}, Env: map[string]string{"WHERE": "/workspace/home"}})
	if err != nil || ran.ExitCode != 0 || string(ran.Stdout) != "/workspace/repo\n" {
		t.Fatalf("%+v %v: %s %s", ran, err, ran.Stdout, ran.Stderr)
	}
	r, err := m.Get(t.Context(), "/workspace/agent/out")
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := io.ReadAll(r); string(data) != "/workspace/home\n" {
		t.Errorf("%q", data)
	}
	if _, err := m.Get(t.Context(), "/workspace/agent/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := m.Put(t.Context(), "/workspace/../etc/x", strings.NewReader(""), 0o644); err == nil {
		t.Error("a path outside was taken")
	}
}

func TestTimeoutsAndLimits(t *testing.T) {
	t.Parallel()
	m := setup(t)
	out, res, err := sandbox.Output(t.Context(), m, sandbox.Command{Shell: "echo before; sleep 60", Timeout: 2 * time.Second})
	if err != nil || !res.TimedOut || res.ExitCode != -1 || out != "before\n" {
		t.Errorf("%q %+v %v", out, res, err)
	}
	ran, err := sandbox.Capture(t.Context(), m, sandbox.Command{Shell: "echo 12345; exit 3", MaxOutput: 2})
	if err != nil || string(ran.Stdout) != "12" || !ran.Truncated || ran.ExitCode != 3 {
		t.Errorf("%+v %v", ran, err)
	}
}

// A launched program, and what it starts in sessions of its own, ends by Halt.
func TestLaunchedEndsByHalt(t *testing.T) {
	t.Parallel()
	m := setup(t)
	if err := m.Launch(t.Context(), sandbox.Command{Shell: "setsid sleep 300 & sleep 300"}); err != nil {
		t.Fatal(err)
	}
	if on, err := m.Launched(t.Context()); !on || err != nil {
		t.Fatal(on, err)
	}
	if err := m.Launch(t.Context(), sandbox.Command{Shell: "true"}); err == nil {
		t.Error("launched twice")
	}
	before, err := m.Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if on, _ := m.Launched(t.Context()); on {
		t.Error("still running")
	}
	if _, err := m.Exec(t.Context(), sandbox.Command{Shell: "echo x >file"}); err != nil {
		t.Fatal(err)
	}
	if after, _ := m.Tree(t.Context()); after == before {
		t.Error("the tree changed, its fingerprint did not")
	}
}
