package e2bsim_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/e2bsim"
)

// TestOfficialSDK: E2B's own JavaScript SDK, in a pinned version, works with the
// stub as jssdk/check.mjs says, and leaves nothing behind.
func TestOfficialSDK(t *testing.T) {
	t.Parallel()
	requireNPM(t)
	requireMachine(t)
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

// installSDK returns a directory with the SDK, as the lock file pins it, and the
// script. It is kept in the user's cache.
func installSDK(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	names := []string{"package.json", "package-lock.json", "check.mjs"}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("jssdk", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
		sum.Write(data)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "yudai", fmt.Sprintf("e2bsim-js-%x", sum.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	making, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(making)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(making, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	c.Dir = making
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	if err := os.Rename(making, dir); err != nil && !os.IsExist(err) {
		if _, there := os.Stat(dir); there != nil {
			t.Fatal(err)
		}
	}
	return dir
}
