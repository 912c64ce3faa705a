package checker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/test/require"
)

func TestMain(m *testing.M) {
	local.Stage()
	os.Exit(m.Run())
}

func TestRequiredSandboxMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestOpenSandboxIsFound")
}

// TestLeftovers leaves one thing of every kind on the machine.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	type leftover struct {
		name, text string
		leave      func(t *testing.T, dir string)
	}
	all := []leftover{
		{"a sandbox", "directory sandboxes/y-1", func(t *testing.T, dir string) { mkdir(t, dir, "sandboxes/y-1") }},
		{"a base", "directory bases/y-2", func(t *testing.T, dir string) { mkdir(t, dir, "bases/y-2") }},
		{"a half", "directory making/12-3-4", func(t *testing.T, dir string) { mkdir(t, dir, "making/12-3-4") }},
		{"trash", "directory trash/1", func(t *testing.T, dir string) { mkdir(t, dir, "trash/1") }},
		{"a marked process", "runs: yudai-sandbox:", func(t *testing.T, dir string) {
			process(t, func(c *exec.Cmd) { c.Args[0] = "yudai-sandbox:" + shortName(dir) + ":y-1:owner" })
		}},
		{"a process inside", "has its cwd in", func(t *testing.T, dir string) {
			mkdir(t, dir, "elsewhere")
			process(t, func(c *exec.Cmd) { c.Dir = filepath.Join(dir, "elsewhere") })
		}},
		{"a process that names it", "in its environment", func(t *testing.T, dir string) {
			process(t, func(c *exec.Cmd) { c.Env = []string{"WHERE=" + dir} })
		}},
	}
	if os.Geteuid() == 0 { // others cannot mount, nor can what they run
		all = append(all, leftover{"a mount", "mount ", func(t *testing.T, dir string) {
			place := mkdir(t, dir, "elsewhere")
			if err := unix.Mount("tmpfs", place, "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Unmount(place, unix.MNT_DETACH) })
		}})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.live()
			w.write()
			c.leave(t, w.e.Sandboxes)
			found(t, w.report(), "leaked", c.text)
		})
	}
}

func shortName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}

func mkdir(t *testing.T, dir, sub string) string {
	t.Helper()
	path := filepath.Join(dir, sub)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// process runs until the test ends.
func process(t *testing.T, change func(*exec.Cmd)) {
	t.Helper()
	c := exec.Command("sleep", "1000")
	change(c)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
}

// TestOpenSandboxIsFound opens a real sandbox with a command in it: its
// directory, its processes and, where there are any, its control groups are
// found, and nothing once it is closed. So the names here are the driver's.
func TestOpenSandboxIsFound(t *testing.T) {
	t.Parallel()
	require.Programs(t, "bubblewrap", "bwrap")
	w := newWorld(t)
	w.live()
	w.write()
	cfg := local.DefaultConfig()
	cfg.Dir, cfg.AllowUnlimited = w.e.Sandboxes, true
	d, err := local.New(cfg, zerolog.Nop())
	w.must(err)
	w.must(d.Check(t.Context()))
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "y-open-1-1"})
	w.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		sb.Exec(ctx, sandbox.Command{Shell: "echo here; sleep 1000", Stdout: &signalWriter{c: began}})
	}()
	select {
	case <-began:
	case <-time.After(20 * time.Second):
		t.Fatal("the command does not run")
	}
	r := w.report()
	found(t, r, "leaked", "directory sandboxes/y-open-1-1")
	found(t, r, "leaked", "yudai-sandbox:"+shortName(cfg.Dir)+":y-open-1-1:")
	found(t, r, "leaked", "__yudai-sandbox-helper")
	found(t, r, "leaked", "has mounted")
	if !strings.Contains(strings.Join(d.Traits().Notes, " "), "control group") {
		found(t, r, "leaked", "control group ")
	}
	cancel()
	<-ended
	w.must(sb.Close(context.Background()))
	if r := w.report(); !r.OK() {
		t.Error(r)
	}
}

// signalWriter closes a channel at the first byte.
type signalWriter struct {
	c    chan struct{}
	done bool
}

func (s *signalWriter) Write(p []byte) (int, error) {
	if !s.done {
		s.done = true
		close(s.c)
	}
	return len(p), nil
}
