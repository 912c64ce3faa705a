package cloud

import (
	"errors"
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
)

// TestAllowList: an address would open more than a name does, at every provider.
func TestAllowList(t *testing.T) {
	t.Parallel()
	d := &Driver{}
	for _, h := range []string{"", "*", "*.", "1.2.3.4", "10.0.0.0/8", "a:443", "http://a", "a*b", "::1", "a b"} {
		if _, err := d.hosts(sandbox.Network{Allow: []string{h}}); err == nil {
			t.Errorf("the allow-list takes %q", h)
		}
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
