package local_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	local.Stage()
	os.Exit(m.Run())
}

// config is for tests: small limits, a private state directory, and weaker
// limits accepted where there are no control groups.
func config(t *testing.T) local.Config {
	t.Helper()
	c := local.DefaultConfig()
	c.Dir = t.TempDir()
	c.AllowUnlimited = true
	c.FreeDiskMiB = 16
	return c
}

// setup returns a driver; without bubblewrap the test is skipped, or fails
// where it is required.
func setup(t *testing.T, change ...func(*local.Config)) *local.Driver {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if slices.Contains(strings.Split(os.Getenv("YUDAI_TEST_REQUIRE"), ","), "bubblewrap") {
			t.Fatal("bubblewrap is required and not installed")
		}
		t.Skip("bubblewrap is not installed")
	}
	c := config(t)
	for _, f := range change {
		f(&c)
	}
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // also makes what t.TempDir removes removable
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the end: %v", err)
		}
	})
	return d
}

func TestPromises(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Harness{Driver: setup(t), Commands: true})
}

func TestPromisesWithCopies(t *testing.T) {
	t.Parallel()
	d := setup(t, func(c *local.Config) { c.Fork = "copy" })
	if got := d.Traits().ForkHow; got != "copy" {
		t.Errorf("ForkHow is %q", got)
	}
	sandboxtest.Run(t, sandboxtest.Harness{Driver: d, Commands: true})
}
