package sandboxtest_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/localtest"
	"github.com/yudai-dev/yudai/test/require"
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
	require.Daily(t)
	require.Programs(t, "bubblewrap", "bwrap")
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
			b.inner = localtest.Driver(t) // of its own: a broken one may sweep too much
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
