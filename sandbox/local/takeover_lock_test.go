package local

import (
	"context"
	"errors"
	"os"
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

// TestAttachWaitsForOpen attaches as soon as a sandbox has its name. Both the one that opens
// it and the next owner come to their end, and the sandbox is the next owner's.
func TestAttachWaitsForOpen(t *testing.T) {
	t.Parallel()
	b := opened(t)
	other, err := New(b.driver.config, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	other.facts()
	dir := other.state.sandbox("contested")
	attached := make(chan sandbox.Sandbox)
	go func() {
		defer close(attached)
		for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
			if _, err := os.Lstat(dir); err == nil {
				break
			}
		}
		sb, err := other.Attach(t.Context(), "contested")
		if err != nil {
			t.Errorf("attach: %v", err)
			return
		}
		attached <- sb
	}()
	if _, err := b.driver.Open(t.Context(), sandbox.Spec{Name: "contested"}); err != nil {
		t.Errorf("open: %v", err)
	}
	sb := <-attached
	if sb == nil {
		return
	}
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("the next owner: %+v, %v", res, err)
	}
}

// TestOpenLeavesWhatIsAnothers: a sandbox that could not begin takes nobody's with it, who
// has its name by now.
func TestOpenLeavesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	b := opened(t)
	late := b.record
	late.Owner = "DEAD"
	if err := b.driver.abandon(t.Context(), late); err != nil {
		t.Error(err)
	}
	if res, err := b.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("the owner: %+v, %v", res, err)
	}
	if err := b.driver.abandon(t.Context(), b.record); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(b.dir); !os.IsNotExist(err) {
		t.Errorf("its own is still there: %v", err)
	}
}
