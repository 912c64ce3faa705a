package sandbox_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
)

// TestAllowList: names of hosts, and nothing that would open more, for every driver.
func TestAllowList(t *testing.T) {
	t.Parallel()
	check := func(host string) error {
		return sandbox.Spec{Name: "a", Network: sandbox.Network{Allow: []string{"a.example", host}}}.Check()
	}
	for _, h := range []string{"", "*", "*.", "1.2.3.4", "*.1.2.3.4", "10.0.0.0/8", "a:443", "http://a", "a*b", "::1", "a b"} {
		if check(h) == nil {
			t.Errorf("the allow-list takes %q", h)
		}
	}
	for _, h := range []string{"b", "b.example", "*.a.example"} {
		if err := check(h); err != nil {
			t.Errorf("%q: %v", h, err)
		}
	}
}
