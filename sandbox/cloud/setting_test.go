package cloud

import (
	"errors"
	"slices"
	"strings"
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

// TestIDs: what a service calls a machine leads to no other operation.
func TestIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"i0a1b2c3", "sbx_7-f", "550e8400-e29b-41d4-a716-446655440000"} {
		if !IsID(id) {
			t.Errorf("%q is refused", id)
		}
	}
	for _, id := range []string{"", ".", "..", "../team", "a/b", "a?b", "a b", "a\n", strings.Repeat("x", 129)} {
		if IsID(id) {
			t.Errorf("%q is taken", id)
		}
	}
}
