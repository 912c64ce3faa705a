package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
)

// TestSweepControlGroups leaves a control group behind as an owner does that is
// killed between writing its successor's name and removing the old group. A
// sweep removes it, and spares that of a living sandbox.
func TestSweepControlGroups(t *testing.T) {
	t.Parallel()
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
	if err := d.ready(); err != nil && os.Getenv("YUDAI_TEST_REQUIRE") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	if !d.facts().grouped {
		t.Skip("no control groups here")
	}
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "living"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newGroup(d.groupName(record{Name: "living", ID: "DEAD"}), c.Limits.Fill(sandbox.Limits{})); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return true }); err != nil {
		t.Fatal(err)
	}
	left, err := groupDirs(d.groupPrefix())
	if err != nil {
		t.Fatal(err)
	}
	living := d.groupName(sb.(*box).record)
	for _, dir := range left {
		if filepath.Base(dir) != living {
			t.Errorf("%s was left", dir)
		}
	}
	if len(left) == 0 {
		t.Error("the control group of the living sandbox was removed")
	}
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("the living sandbox: %+v, %v", res, err)
	}
}
