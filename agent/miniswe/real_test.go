package miniswe_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/internal/hostmachine"
	"github.com/yudai-dev/yudai/solve"
)

// requireEnv lists what a test must not do without.
const requireEnv = "YUDAI_TEST_REQUIRE"

func need(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv(requireEnv), ","), what) {
		t.Fatalf("%s is required: %v", what, err)
	}
	t.Skipf("without %s: %v", what, err)
}

// installed is the directory of a machine in which the agent's own install was run:
// once for each lock, script and Python, and kept in the user's cache.
func installed(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	need(t, "pip", err)
	version, err := exec.CommandContext(t.Context(), python, "-c", "import sys, platform, ensurepip; print(sys.version, sys.prefix, platform.machine())").CombinedOutput()
	if err != nil {
		need(t, "pip", fmt.Errorf("find a Python with pip: %w: %s", err, version))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	inst := miniswe.Program().Install
	name := fmt.Sprintf("miniswe-%x", sha256.Sum256(slices.Concat(version, []byte(inst.Command), inst.Files[0].Data)))[:30]
	dir := filepath.Join(cache, "yudai", name)
	unlock := lock(t, dir+".lock")
	defer unlock()
	done := filepath.Join(dir, "complete")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	need(t, "pip", setUp(t, dir, inst))
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// setUp runs an install as the solver does.
func setUp(t *testing.T, dir string, inst agent.Installation) error {
	t.Helper()
	m, err := hostmachine.New(dir)
	if err != nil {
		return err
	}
	for _, f := range inst.Files {
		if err := m.Put(t.Context(), f); err != nil {
			return err
		}
	}
	env := map[string]string{} // the operator's mirrors
	for _, v := range os.Environ() {
		if name, value, ok := strings.Cut(v, "="); ok && (strings.HasPrefix(name, "PIP_") || strings.HasSuffix(strings.ToLower(name), "_proxy")) {
			env[name] = value
		}
	}
	ran, err := m.Exec(t.Context(), agent.Program{Shell: inst.Command, Env: env, Dir: agent.InstallDir, Timeout: 10 * time.Minute}, 1<<20)
	if err != nil || ran.ExitCode != 0 {
		return fmt.Errorf("install: exit code %d, %w\n%s%s", ran.ExitCode, err, ran.Stdout, ran.Stderr)
	}
	return nil
}

// lock keeps other test processes from making the same environment.
func lock(t *testing.T, name string) (unlock func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// machine is a fresh one. With agents it has what was installed.
func machine(t *testing.T, agents string) (*hostmachine.Machine, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "miniswe") // a test's own directory has the test's name, with any character
	if err != nil {
		t.Fatal(err)
	}
	m, err := hostmachine.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Halt(context.Background()); os.RemoveAll(dir) })
	if agents != "" {
		if err := os.Symlink(filepath.Join(agents, "agents"), filepath.Join(dir, "agents")); err != nil {
			t.Fatal(err)
		}
	}
	return m, dir
}

// transcript is a store in memory.
type transcript struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *transcript) save(ctx context.Context, lines []byte, _ solve.Progress) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines.Write(lines)
	return ctx.Err()
}

func (l *transcript) messages(t *testing.T) []agent.Message {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	messages, torn := agent.Stored(l.lines.Bytes())
	if torn {
		t.Error("the transcript is torn")
	}
	return messages
}

// printed is what the program printed, for a test that failed.
func printed(t *testing.T, get func(context.Context, string) (io.ReadCloser, error)) string {
	t.Helper()
	r, err := get(t.Context(), command.OutputFile)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
