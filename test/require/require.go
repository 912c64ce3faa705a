// Package require says what tests need on this machine, and how long they may take.
//
// A test that would skip for want of something that [Env] lists fails instead, so
// that CI notices what it does not test. There are three levels of time: "short" is
// `go test -short ./...`, a minute, with nothing but Go, git and bubblewrap; "daily"
// is `make test`, some minutes; "long" is `make test-long`, of which CI runs a part
// with each commit. A test that calls neither [Daily] nor [Long] runs at every level.
package require

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// Env lists, with commas, what this machine must have ("bubblewrap,docker").
	Env = "YUDAI_TEST_REQUIRE"
	// LongEnv turns the long tests on: all of them, or at "1/3" the part 1 (of 0 to 2) of three.
	LongEnv = "YUDAI_TEST_LONG"
)

// AtLong reports whether all long tests run.
func AtLong() bool { return os.Getenv(LongEnv) != "" && !strings.Contains(os.Getenv(LongEnv), "/") }

// InPart reports whether the long test of this name is in the part of all that a value of [LongEnv] names.
func InPart(value, name string) (bool, error) {
	if value == "" {
		return false, nil
	}
	var part, parts uint32
	if n, err := fmt.Sscanf(value, "%d/%d", &part, &parts); n != 2 || err != nil || part >= parts {
		return false, fmt.Errorf("%s=%s: want 1, or a part like 0/3, 1/3 or 2/3", LongEnv, value)
	}
	return crc32.ChecksumIEEE([]byte(name))%parts == part, nil
}

// Daily skips the test at the level "short".
func Daily(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs without -short")
	}
}

// Long skips the test unless the level is "long".
func Long(t testing.TB) {
	t.Helper()
	if AtLong() {
		return
	}
	in, err := InPart(os.Getenv(LongEnv), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !in {
		t.Skipf("runs with %s=1, as `make test-long` sets it", LongEnv)
	}
}

// Sample is how many of all cases to try: all at the level "long", else at most most.
func Sample(all, most int) int {
	if AtLong() {
		return all
	}
	return min(all, most)
}

// Needs reports whether something is listed in [Env].
func Needs(what string) bool {
	return slices.Contains(strings.Split(os.Getenv(Env), ","), what)
}

// Need skips a test that cannot run for the reason err, and fails it where
// what is listed in [Env]. A nil err means that nothing is missing. At the level
// "short" nothing but bubblewrap is needed.
func Need(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case testing.Short() && what != "bubblewrap":
		t.Skipf("needs %s: runs without -short", what)
	case err == nil:
	case Needs(what):
		t.Fatalf("%s is required: %v", what, err)
	default:
		t.Skipf("without %s: %v", what, err)
	}
}

// Programs is Need for programs that must be on the PATH.
func Programs(t *testing.T, what string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		_, err := exec.LookPath(p)
		Need(t, what, err)
	}
}

// Machines is Need for the machines of package test/machine, which take root and bubblewrap.
func Machines(t *testing.T, unsupported error) {
	t.Helper()
	Daily(t)
	if unsupported != nil && Needs("bubblewrap") && (os.Geteuid() == 0 || Needs("root")) {
		t.Fatal(unsupported)
	}
	if unsupported != nil {
		t.Skip(unsupported)
	}
}

// SkipFails proves that the named test of the calling test binary keeps to [Env]: it
// runs the binary again without bubblewrap, where the test must skip, and where
// bubblewrap is required must fail.
func SkipFails(t *testing.T, name string) {
	t.Helper()
	SkipFailsWithout(t, "bubblewrap", name)
}

// SkipFailsWithout is SkipFails for something else that tests need, under its name
// in [Env]. The test finds no programs but the few that are named here.
func SkipFailsWithout(t *testing.T, need, name string) {
	t.Helper()
	Daily(t)
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
		c.Env = []string{"PATH=" + path, "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), LongEnv + "=1", Env + "="}
		if required {
			c.Env[len(c.Env)-1] += need
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
