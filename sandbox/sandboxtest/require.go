package sandboxtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// RequireEnv lists, with commas, what tests need on this machine ("bubblewrap").
// A test that would skip for want of something listed fails instead.
const RequireEnv = "YUDAI_TEST_REQUIRE"

// Required reports whether something is listed in [RequireEnv].
func Required(what string) bool {
	return slices.Contains(strings.Split(os.Getenv(RequireEnv), ","), what)
}

// Require skips a test where something is wanting, for the reason given, and fails it
// where that is listed in [RequireEnv]. Without a reason nothing is wanting.
func Require(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case Required(what):
		t.Fatalf("%s is required: %v", what, err)
	default:
		t.Skipf("without %s: %v", what, err)
	}
}

// RequirePrograms is Require for programs that have to be found.
func RequirePrograms(t *testing.T, what string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		_, err := exec.LookPath(p)
		Require(t, what, err)
	}
}

// RequireMachines is Require for machines of package test/machine: it fails a test
// where what they need is listed.
func RequireMachines(t *testing.T, unsupported error) {
	t.Helper()
	if unsupported != nil && Required("bubblewrap") && (os.Geteuid() == 0 || Required("root")) {
		t.Fatal(unsupported)
	}
	if unsupported != nil {
		t.Skip(unsupported)
	}
}

// SkipFails shows that the named test of the calling test binary keeps to
// [RequireEnv]: it runs the binary once more as on a machine without bubblewrap,
// where the test has to skip, and where bubblewrap is required has to fail.
func SkipFails(t *testing.T, name string) {
	t.Helper()
	SkipFailsWithout(t, "bubblewrap", name)
}

// SkipFailsWithout is SkipFails for something else that tests need, under its name
// in [RequireEnv]. Programs that are not named here are never found.
func SkipFailsWithout(t *testing.T, need, name string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	for _, program := range []string{"sh", "bash", "git", "mkdir"} { // what tests call before they come to a sandbox
		found, err := exec.LookPath(program)
		if err == nil {
			err = os.Symlink(found, filepath.Join(path, program))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, required := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, exe, "-test.run=^"+strings.ReplaceAll(name, "/", "$/^")+"$", "-test.v", "-test.count=1")
		c.Env = []string{"PATH=" + path, "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), RequireEnv + "="}
		if required {
			c.Env[3] += need
		}
		out, err := c.CombinedOutput()
		skipped := strings.Contains(string(out), "--- SKIP: "+name)
		switch {
		case !required && (err != nil || !skipped):
			t.Errorf("%s does not skip without %s: %v\n%s", name, need, err, out)
		case required && (err == nil || skipped):
			t.Errorf("%s skips although %s is required:\n%s", name, need, out)
		}
	}
}
