package swerex_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent/swerex"
)

var update = flag.Bool("update", false, "record client/real.golden from the official server")

// differs are the steps in which this endpoint means to be better than the original.
var differs = map[string]string{
	"deaf command": `"freed"`, // one that ignores an interrupt is killed; the original gives up
}

// TestClient drives the endpoint in front of a real sandbox with the official client.
// Every step has to come to what it comes to at the official server.
func TestClient(t *testing.T) {
	t.Parallel()
	p := official(t)
	if *update {
		p.record(t)
	}
	want, err := os.ReadFile("client/real.golden")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(want), "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(line, ": ")
		if d, ok := differs[name]; ok {
			lines[i] = name + ": " + d + "\n"
		}
	}
	s, address := serve(t, box(t), swerex.Options{})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	got := p.steps(t, u.Port(), "/workspace/keep")
	if d := cmp.Diff(lines, strings.SplitAfter(got, "\n")); d != "" {
		t.Errorf("-official server +this endpoint:\n%s", d)
	}
	if err := s.Failure(); err != nil {
		t.Error(err)
	}
}

// python is a virtual environment with the official client and server.
type python struct{ dir string }

// official makes the environment, once for each set of requirements and Python,
// and keeps it in the user's cache.
func official(t *testing.T) python {
	t.Helper()
	found, err := exec.LookPath("python3")
	need(t, "pip", err)
	text, err := os.ReadFile("client/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	version, err := tool(t, found, "-c", "import sys, platform, ensurepip; print(sys.version, sys.prefix, platform.machine())")
	need(t, "pip", err)
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	p := python{filepath.Join(cache, "yudai", fmt.Sprintf("swerex-%x", sha256.Sum256([]byte(version+string(text))))[:27])}
	defer lock(t, p.dir+".lock")()
	done := filepath.Join(p.dir, "complete")
	if _, err := os.Stat(done); err == nil {
		return p
	}
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{found, "-m", "venv", p.dir},
		{p.program("pip"), "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--only-binary=:all:", "--require-hashes", "--requirement", "client/requirements.txt"},
	} {
		_, err := tool(t, args...)
		need(t, "pip", err)
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
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

func tool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (p python) program(name string) string { return filepath.Join(p.dir, "bin", name) }

// command is a program of the environment, with an empty home.
func (p python) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, p.program(args[0]), args[1:]...)
	c.Dir = t.TempDir()
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + c.Dir, "LANG=C.UTF-8", "NO_PROXY=*"}
	return c
}

// steps runs the script against an endpoint and returns what it saw.
func (p python) steps(t *testing.T, port, there string) string {
	t.Helper()
	script, err := filepath.Abs("client/steps.py")
	if err != nil {
		t.Fatal(err)
	}
	out := &strings.Builder{}
	c := p.command(t, "python", script, port, token, there, t.TempDir())
	c.Stderr = out // the client prints on stdout
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out.String()
}

// record runs the script against the official server.
func (p python) record(t *testing.T) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	server := p.command(t, "swerex-remote", "--auth-token", token, "--host", "127.0.0.1", "--port", port)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	seen := p.steps(t, port, t.TempDir())
	if err := errors.Join(server.Process.Kill(), os.WriteFile("client/real.golden", []byte(seen), 0o600)); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
}
