// Package hostmachine is a sandbox made of a directory and this machine's own bash, for
// tests of agents. It isolates nothing.
//
// What a sandbox has under /workspace lies in the directory. The name is replaced in
// commands, variables and files on their way in, and back in everything that comes
// out, so that texts read the same as in a sandbox. Two Machines with the same
// directory are the same machine: the second is its next owner.
package hostmachine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// inside is the directory of a sandbox that is mapped.
const inside = "/workspace"

// Machine is a directory in which programs run.
type Machine struct{ dir string }

var (
	_ sandbox.Sandbox  = (*Machine)(nil)
	_ sandbox.Launcher = (*Machine)(nil)
)

// New returns the machine of a directory that exists, and makes /workspace/repo,
// /workspace/home and /workspace/keep in it.
func New(dir string) (*Machine, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open machine: %w", err)
	}
	if strings.ContainsAny(dir, " $&()'\"`") { // it is put into scripts
		return nil, fmt.Errorf("open machine: %q has characters that a shell reads", dir)
	}
	for _, d := range []string{"repo", "home", "keep", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, fmt.Errorf("open machine: %w", err)
		}
	}
	return &Machine{dir: dir}, nil
}

// Host is where a path of the machine lies on the host.
func (m *Machine) Host(path string) string { return strings.ReplaceAll(path, inside, m.dir) }

// back makes a text of the host one of the machine.
func (m *Machine) back(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(m.dir), []byte(inside))
}

// Name implements [sandbox.Sandbox].
func (m *Machine) Name() string { return filepath.Base(m.dir) }

// Close implements [sandbox.Sandbox]. The directory stays.
func (m *Machine) Close(ctx context.Context) error { return m.Halt(ctx) }

// Exec implements [sandbox.Sandbox]. Output arrives when the command has ended.
func (m *Machine) Exec(ctx context.Context, p sandbox.Command) (sandbox.Result, error) {
	if err := p.Check(); err != nil {
		return sandbox.Result{}, err
	}
	inner := ctx
	if p.Timeout > 0 {
		var stop context.CancelFunc
		inner, stop = context.WithTimeout(ctx, p.Timeout)
		defer stop()
	}
	var stdout, stderr bytes.Buffer
	c := m.command(inner, p)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.Stdin, c.Stdout, c.Stderr = p.Stdin, &stdout, &stderr
	if p.Stdout == p.Stderr {
		c.Stderr = &stdout
	}
	err := c.Run()
	if ctx.Err() != nil {
		return sandbox.Result{}, ctx.Err()
	}
	var res sandbox.Result
	left := p.MaxOutput
	if left == 0 {
		left = sandbox.DefaultMaxOutput
	}
	for _, out := range []struct {
		to   io.Writer
		data []byte
	}{{p.Stdout, m.back(stdout.Bytes())}, {p.Stderr, m.back(stderr.Bytes())}} {
		n := min(int64(len(out.data)), left)
		res.Truncated = res.Truncated || n < int64(len(out.data))
		left -= n
		if out.to != nil {
			_, _ = out.to.Write(out.data[:n]) // as a sandbox, whatever becomes of it
		}
	}
	if res.TimedOut = inner.Err() != nil; res.TimedOut {
		res.ExitCode = -1
		return res, nil
	}
	res.ExitCode = exitCode(c)
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && !errors.Is(err, exec.ErrWaitDelay) {
		return res, fmt.Errorf("run command: %w", err)
	}
	return res, nil
}

// exitCode is as a shell reports it.
func exitCode(c *exec.Cmd) int {
	if c.ProcessState == nil {
		return -1
	}
	if w, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return c.ProcessState.ExitCode()
}

// command is a program as this machine runs it, with a small environment of its own.
func (m *Machine) command(ctx context.Context, p sandbox.Command) *exec.Cmd {
	argv := p.Argv
	if p.Shell != "" {
		argv = []string{"bash", "-c", p.Shell}
	}
	path := strings.Join(append(append([]string{}, p.Path...), os.Getenv("PATH")), ":")
	env := []string{"PATH=" + m.Host(path), "HOME=" + filepath.Join(m.dir, "home"), "TMPDIR=" + filepath.Join(m.dir, "tmp"), "LANG=C.UTF-8", "TERM=dumb", "USER=yudai"}
	for k, v := range p.Env {
		env = append(env, k+"="+m.Host(v))
	}
	// env looks the program up in the machine's own path.
	args := []string{"--"}
	for _, a := range argv {
		args = append(args, m.Host(a))
	}
	c := exec.CommandContext(ctx, "env", args...)
	c.Env, c.Dir = env, m.Host(p.Dir)
	if p.Dir == "" {
		c.Dir = filepath.Join(m.dir, "repo")
	}
	c.WaitDelay = time.Second // what the program left behind may hold the streams
	return c
}

// place is where a file of the machine lies; what leaves the machine is refused.
func (m *Machine) place(path string) (string, error) {
	clean := filepath.Clean(path)
	if rest, ok := strings.CutPrefix(clean, "/tmp/"); ok {
		return filepath.Join(m.dir, "tmp", rest), nil
	}
	if !strings.HasPrefix(clean, inside+"/") {
		return "", fmt.Errorf("%s is not below /workspace or /tmp", path)
	}
	return m.Host(clean), nil
}

// Put implements [sandbox.Sandbox].
func (m *Machine) Put(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	to, err := m.place(path)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(r)
	}
	if err == nil {
		syscall.ForkLock.RLock() // a process that starts now would hold the file open, and nothing could execute it: "text file busy"
		err = os.WriteFile(to, bytes.ReplaceAll(data, []byte(inside), []byte(m.dir)), mode)
		syscall.ForkLock.RUnlock()
	}
	if err == nil {
		err = os.Chmod(to, mode)
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", path, err)
	}
	return ctx.Err()
}

// Get implements [sandbox.Sandbox].
func (m *Machine) Get(ctx context.Context, path string) (io.ReadCloser, error) {
	from, err := m.place(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(from)
	if err == nil && !info.Mode().IsRegular() {
		err = sandbox.ErrPath
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(from)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", path, err)
	}
	return io.NopCloser(bytes.NewReader(m.back(data))), ctx.Err()
}
