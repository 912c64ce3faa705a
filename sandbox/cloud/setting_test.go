package cloud

import (
	"errors"
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
)

// TestHosts: the allow-list as services want it.
func TestHosts(t *testing.T) {
	t.Parallel()
	d := &Driver{}
	if _, err := d.hosts(sandbox.Network{Allow: []string{"1.2.3.4"}}); err == nil {
		t.Error("an address is taken for a name")
	}
	got, err := d.hosts(sandbox.Network{Allow: []string{"b.example", "*.a.example", "b.example"}})
	if err != nil || !slices.Equal(got, []string{"*.a.example", "b.example"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := d.hosts(sandbox.Network{Socket: "/s"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a socket: %v, want ErrUnsupported", err)
	}
	if got, err := d.hosts(sandbox.Network{}); err != nil || got == nil || len(got) > 0 {
		t.Errorf("an empty list is %#v, %v", got, err)
	}
}
