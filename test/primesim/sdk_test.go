package primesim_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/test/primesim"
	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/test/toolcache"
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

// python is the programs' directory of an environment with the official clients.
type python string

func official(t *testing.T) python {
	t.Helper()
	bin, err := toolcache.Venv(t.Context(), "primesim",
		toolcache.Lock{File: "pysdk/build.txt", Options: []string{"--only-binary=:all:"}},
		toolcache.Lock{File: "pysdk/requirements.txt", Options: []string{"--no-build-isolation"}}) // one of them is there as source only
	require.Need(t, "pip", err)
	return python(bin)
}

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
	c := exec.CommandContext(ctx, filepath.Join(string(p), name), args...)
	home := t.TempDir()
	c.Dir = home
	c.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8", "COLUMNS=200", "NO_PROXY=*",
		"PRIME_API_KEY=" + s.key, "PRIME_API_BASE_URL=" + s.URL(), "PRIME_DISABLE_VERSION_CHECK=1",
	}
	out, err := c.CombinedOutput()
	return string(out), err
}
