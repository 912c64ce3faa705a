package local

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// TestRemoveBesideSweep: what is removed while a Sweep empties the trash is gone when
// remove returns.
func TestRemoveBesideSweep(t *testing.T) {
	t.Parallel()
	s, err := openState(t.TempDir(), -1)
	if err != nil {
		t.Fatal(err)
	}
	d := &Driver{state: s}
	over, swept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swept)
		for {
			select {
			case <-over:
				return
			default:
				_ = d.sweepHalves() // what another call removes at the same moment is no matter here
			}
		}
	}()
	for range 300 {
		dir := s.sandbox("one")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := s.remove(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the sandbox is still there: %v", err)
		}
	}
	close(over)
	<-swept
}
