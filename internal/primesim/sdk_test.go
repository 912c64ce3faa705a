package primesim_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/primesim"
)

// TestPythonSDK drives the stub through the official SDK: what it asks for is
// what the service offers, and what the stub answers is what it understands.
func TestPythonSDK(t *testing.T) {
	t.Parallel()
	p := official(t)
	s := setup(t, primesim.Options{
		InlineAuth: true, Images: []primesim.Image{{Name: "yudai/sandbox:sdk"}},
		Provision: 100 * time.Millisecond, Reach: 200 * time.Millisecond, Apply: 50 * time.Millisecond, Durable: 100 * time.Millisecond,
	})
	var faults []*primesim.Injection
	for _, f := range []primesim.Fault{ // what the SDK has to get over
		{Kind: primesim.FaultStatus, Status: 401, On: primesim.CallStart, Nth: 6},
		{Kind: primesim.FaultStatus, Status: 409, On: primesim.CallUpload},
		{Kind: primesim.FaultStatus, Status: 503, On: primesim.CallDownload},
		{Kind: primesim.FaultStatus, Status: 502, On: primesim.CallGet},
		{Kind: primesim.FaultLost, On: primesim.CallCreate},
	} {
		faults = append(faults, s.Inject(f))
	}
	p.script(t, s, "pysdk/sdk.py", "yudai/sandbox:sdk")
	if billed, stored := s.Billed(), s.Stored(); len(billed)+len(stored) > 0 {
		t.Errorf("still billed: %v, %v", billed, stored)
	}
	for i, in := range faults {
		if in.Hits() != 1 {
			t.Errorf("fault %d hit %d times", i, in.Hits())
		}
	}
	if n := len(s.IDs("one")); n != 1 {
		t.Errorf("the create whose answer was lost made %d sandboxes", n)
	}
}

// TestPythonProcesses breaks the streams of live processes, which the SDK attaches to again.
func TestPythonProcesses(t *testing.T) {
	t.Parallel()
	p := official(t)
	s := setup(t, primesim.Options{})
	id := s.running(nil).id
	after := s.Inject(primesim.Fault{Kind: primesim.FaultCut, On: primesim.CallStart, Frames: 1})
	before := s.Inject(primesim.Fault{Kind: primesim.FaultCut, On: primesim.CallStart, Nth: 2})
	p.script(t, s, "pysdk/process.py", id)
	if after.Hits() != 1 || before.Hits() != 1 || s.Calls(primesim.CallConnect) == 0 || s.Calls(primesim.CallStart) != 3 {
		t.Errorf("cut %d and %d times, attached %d times, started %d times", after.Hits(), before.Hits(), s.Calls(primesim.CallConnect), s.Calls(primesim.CallStart))
	}
	if starts := s.Starts(); len(starts) != 2 {
		t.Errorf("commands: %+v", starts)
	}
}

// python is a virtual environment with the official clients.
type python struct{ dir string }

// official makes the environment, once for each set of requirements and Python,
// and keeps it in the user's cache.
func official(t *testing.T) python {
	t.Helper()
	found, err := exec.LookPath("python3")
	need(t, "pip", err)
	var text []byte
	for _, name := range []string{"pysdk/build.txt", "pysdk/requirements.txt"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, data...)
	}
	version, err := tool(t, found, "-c", "import sys, platform, ensurepip; print(sys.version, sys.prefix, platform.machine())")
	if err != nil {
		need(t, "pip", fmt.Errorf("find a Python with pip: %w: %s", err, version))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	name := fmt.Sprintf("primesim-%x", sha256.Sum256([]byte(version+string(text))))[:30]
	p := python{filepath.Join(cache, "yudai", name)}
	unlock := lock(t, p.dir+".lock")
	defer unlock()
	done := filepath.Join(p.dir, "complete")
	if _, err := os.Stat(done); err == nil {
		return p
	}
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	install := []string{p.program("pip"), "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--require-hashes"}
	for _, args := range [][]string{
		{found, "-m", "venv", p.dir},
		append(slices.Clone(install), "--only-binary=:all:", "--requirement", "pysdk/build.txt"),
		append(slices.Clone(install), "--no-build-isolation", "--requirement", "pysdk/requirements.txt"), // one of them is there as source only
	} {
		if out, err := tool(t, args...); err != nil {
			need(t, "pip", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out))
		}
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
	return strings.TrimSpace(string(out)), err
}

func (p python) program(name string) string { return filepath.Join(p.dir, "bin", name) }

// script runs one of our scripts, which says at its end that every step passed.
func (p python) script(t *testing.T, s *client, name string, args ...string) {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.run(t, s, "python", append([]string{path}, args...)...)
	if err != nil || !strings.Contains(out, "every step passed") {
		t.Fatalf("%s fails: %v\n%s", name, err, out)
	}
}

// run runs a program of the environment against the stub, with an empty home.
func (p python) run(t *testing.T, s *client, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, p.program(name), args...)
	home := t.TempDir()
	c.Dir = home
	c.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8", "COLUMNS=200", "NO_PROXY=*",
		"PRIME_API_KEY=" + s.key, "PRIME_API_BASE_URL=" + s.URL(), "PRIME_DISABLE_VERSION_CHECK=1",
	}
	out, err := c.CombinedOutput()
	return string(out), err
}
