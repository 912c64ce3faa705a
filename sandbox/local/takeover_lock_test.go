package local

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
)

// opened returns a sandbox that launches, of a driver of its own.
func opened(t *testing.T) *box {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is not installed") // TestPromises fails where it is required
	}
	c := DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = t.TempDir(), true, 16
	d, err := New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Error(err)
		}
	})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "resident", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	return sb.(*box)
}

// TestLaunchOneTakesOverAtATime: the record and the helper change hands as one step. Who
// cannot have them changes nothing.
func TestLaunchOneTakesOverAtATime(t *testing.T) {
	t.Parallel()
	b := opened(t)
	release, err := lockDir(t.Context(), b.dir)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(b.driver.config, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	other.facts() // not while the clock runs
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := other.Attach(ctx, "resident"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("attach during another's: %v", err)
	}
	if err := b.owned(); err != nil {
		t.Errorf("the owner changed: %v", err)
	}
	if res, err := b.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("the owner: %+v, %v", res, err)
	}
	release()
	sb, err := other.Attach(t.Context(), "resident")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.owned(); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the old owner is %v", err)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
