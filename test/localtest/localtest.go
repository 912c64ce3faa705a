// Package localtest gives tests real sandboxes, of the local driver. The test binary's
// TestMain has to call [local.Stage] first.
package localtest

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/test/require"
)

// Config is for tests: a state directory of their own, and weaker limits accepted where
// there are no control groups.
func Config(t *testing.T) local.Config {
	t.Helper()
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = t.TempDir(), true, 16
	return c
}

// Driver is a driver of the test's own, which has nothing left at its end. Without
// bubblewrap the test is skipped, or fails where it is required.
func Driver(t *testing.T, change ...func(*local.Config)) *local.Driver {
	t.Helper()
	require.Daily(t)
	require.Programs(t, "bubblewrap", "bwrap")
	c := Config(t)
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

// Open opens a sandbox of a driver of its own, and closes it at the test's end.
func Open(t *testing.T, s sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	sb, err := Driver(t).Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sb
}
