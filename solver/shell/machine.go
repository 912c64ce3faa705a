package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

// command is a program in the sandbox's words.
func command(p agent.Program) sandbox.Command {
	return sandbox.Command{
		Argv: p.Argv, Shell: p.Shell, Env: p.Env, Path: slices.Concat(p.Path, sandbox.ToolPath()), Dir: p.Dir,
		Stdin: p.Stdin, Timeout: p.Timeout,
	}
}

// Exec is agent.Machine.
func (m *Machine) Exec(ctx context.Context, p agent.Program, most int64) (agent.Ran, error) {
	var stdout, stderr bytes.Buffer
	c := command(p)
	c.Stdout, c.Stderr, c.MaxOutput = &stdout, &stderr, most
	res, err := m.box.Exec(ctx, c)
	return agent.Ran{
		Stdout: stdout.Bytes(), Stderr: stderr.Bytes(),
		ExitCode: res.ExitCode, TimedOut: res.TimedOut, Truncated: res.Truncated,
	}, err
}

// Put is agent.Machine.
func (m *Machine) Put(ctx context.Context, f agent.File) error {
	return m.box.Put(ctx, f.Path, bytes.NewReader(f.Data), f.Mode)
}

// Get is agent.Machine.
func (m *Machine) Get(ctx context.Context, path string) (io.ReadCloser, error) {
	return m.box.Get(ctx, path)
}

// launcher is the sandbox's ability.
func (m *Machine) launcher() (sandbox.Launcher, error) {
	if l, ok := m.box.(sandbox.Launcher); ok {
		return l, nil
	}
	return nil, fmt.Errorf("launch in sandbox %s: %w", m.box.Name(), errors.ErrUnsupported)
}

// Launch is agent.Machine.
func (m *Machine) Launch(ctx context.Context, p agent.Program) error {
	l, err := m.launcher()
	if err != nil {
		return err
	}
	return l.Launch(ctx, command(p))
}

// Launched is agent.Machine.
func (m *Machine) Launched(ctx context.Context) (bool, error) {
	l, err := m.launcher()
	if err != nil {
		return false, err
	}
	return l.Launched(ctx)
}

// Halt is agent.Machine.
func (m *Machine) Halt(ctx context.Context) error {
	l, err := m.launcher()
	if err != nil {
		return err
	}
	return l.Halt(ctx)
}
