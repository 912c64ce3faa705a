package e2bsim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/test/toolcache"
)

// TestOfficialSDK: E2B's own JavaScript SDK, in a pinned version, works with the
// stub as jssdk/check.mjs says, and leaves nothing behind.
func TestOfficialSDK(t *testing.T) {
	t.Parallel()
	require.Programs(t, "npm", "node", "npm")
	require.Machines(t, machine.Supported())
	dir := installSDK(t)
	s := start(t)
	c := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "check.mjs"))
	c.Dir = t.TempDir()
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "TMPDIR=" + c.Dir,
		"E2B_API_URL=" + s.URL(), "E2B_SANDBOX_URL=" + s.SandboxURL(), "E2B_API_KEY=" + e2bsim.Key,
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if steps := strings.Count(string(out), "ok "); steps != 13 {
		t.Errorf("%d steps:\n%s", steps, out)
	}
	if billed, stored, bad := s.Billed(), s.Stored(), s.Complaints(); len(billed)+len(stored)+len(bad) > 0 {
		t.Errorf("left: %q, %q, complaints %q", billed, stored, bad)
	}
}

// installSDK returns a directory with the SDK, as the lock file pins it, and the script.
func installSDK(t *testing.T) string {
	t.Helper()
	var key []byte
	for _, name := range []string{"package.json", "package-lock.json", "check.mjs"} {
		data, err := os.ReadFile(filepath.Join("jssdk", name))
		if err != nil {
			t.Fatal(err)
		}
		key = append(key, data...)
	}
	dir, err := toolcache.Dir("e2bsim-js", key, func(dir string) error {
		if err := os.CopyFS(dir, os.DirFS("jssdk")); err != nil {
			return err
		}
		_, err := toolcache.Run(t.Context(), dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		return err
	})
	require.Need(t, "npm", err)
	return dir
}
