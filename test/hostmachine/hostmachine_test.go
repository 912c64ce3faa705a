package hostmachine_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
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
	script := agent.File{Path: "/workspace/agent/x.sh", Data: []byte("#!/bin/bash\ncd /workspace/repo && pwd\necho $WHERE >/workspace/agent/out\n"), Mode: 0o755}
	if err := m.Put(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	ran, err := m.Exec(t.Context(), agent.Program{Argv: []string{"x.sh"}, Path: []string{"/workspace/agent"}, Env: map[string]string{"WHERE": "/workspace/home"}}, 100)
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
	if err := m.Put(t.Context(), agent.File{Path: "/workspace/../etc/x"}); err == nil {
		t.Error("a path outside was taken")
	}
}

func TestTimeoutsAndLimits(t *testing.T) {
	t.Parallel()
	m := setup(t)
	out, err := m.Run(t.Context(), "echo before; sleep 60", 2*time.Second)
	if err != nil || !out.TimedOut || out.ExitCode != -1 || out.Text != "before\n" {
		t.Errorf("%+v %v", out, err)
	}
	ran, err := m.Exec(t.Context(), agent.Program{Shell: "echo 12345; exit 3"}, 2)
	if err != nil || string(ran.Stdout) != "12" || !ran.Truncated || ran.ExitCode != 3 {
		t.Errorf("%+v %v", ran, err)
	}
}

// A launched program, and what it starts in sessions of its own, ends by Halt.
func TestLaunchedEndsByHalt(t *testing.T) {
	t.Parallel()
	m := setup(t)
	if err := m.Launch(t.Context(), agent.Program{Shell: "setsid sleep 300 & sleep 300"}); err != nil {
		t.Fatal(err)
	}
	if on, err := m.Launched(t.Context()); !on || err != nil {
		t.Fatal(on, err)
	}
	if err := m.Launch(t.Context(), agent.Program{Shell: "true"}); err == nil {
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
	if _, err := m.Run(t.Context(), "echo x >file", 0); err != nil {
		t.Fatal(err)
	}
	if after, _ := m.Tree(t.Context()); after == before {
		t.Error("the tree changed, its fingerprint did not")
	}
}
