package sandboxtest_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	local.Stage()
	os.Exit(m.Run())
}

// TestEveryPromiseCatchesItsBreak shows for each promise a driver that breaks it
// and is caught. The inner driver is a real one, which keeps all of them (its
// own test says so).
func TestEveryPromiseCatchesItsBreak(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if slices.Contains(strings.Split(os.Getenv("YUDAI_TEST_REQUIRE"), ","), "bubblewrap") {
			t.Fatal("bubblewrap is required and not installed")
		}
		t.Skip("bubblewrap is not installed")
	}
	all := breaks()
	for _, p := range sandboxtest.Promises() {
		make := all[p.Name]
		delete(all, p.Name)
		if make == nil {
			t.Errorf("no broken driver for promise %q", p.Name)
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			b := make()
			b.inner = newLocal(t)
			h := sandboxtest.Harness{Driver: b, Commands: true}.Ground(t)
			if !p.Applies(h) {
				t.Skip("not claimed on this machine")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if err := p.Check(ctx, h); err == nil {
				t.Error("the broken driver was not caught")
			} else {
				t.Log("caught:", err)
			}
		})
	}
	for name := range all {
		t.Errorf("a broken driver for %q, which is no promise", name)
	}
}

// newLocal returns a driver of its own: a broken one may sweep too much.
func newLocal(t *testing.T) driver {
	t.Helper()
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = t.TempDir(), true, 16
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Error(err)
		}
	})
	return d
}
