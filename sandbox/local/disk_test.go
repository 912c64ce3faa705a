package local

import (
	"errors"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
)

// TestDiskIsLookedAtAfterACommand: the look after a command sees what it wrote, however long
// an earlier look is still good for while commands run.
func TestDiskIsLookedAtAfterACommand(t *testing.T) {
	t.Parallel()
	d := opened(t).driver
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "writer", Limits: sandbox.Limits{Disk: 8 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	disk := sb.(*box).helper.disk
	disk.share = 1 << 30
	if _, err := disk.used(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = sb.Exec(t.Context(), sandbox.Command{Shell: "head -c 5000000 /dev/zero >/tmp/a; head -c 5000000 /dev/zero >/tmp/b; sleep 0.2"})
	if !errors.Is(err, sandbox.ErrDisk) {
		t.Errorf("after ten million bytes: %v, want ErrDisk", err)
	}
}
