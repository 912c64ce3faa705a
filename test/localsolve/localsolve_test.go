package localsolve_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/test/localsolve"
)

// TestConfigOpensOnlyWhatIsPrivate: where registries are public, a solve gets no setting at all.
func TestConfigOpensOnlyWhatIsPrivate(t *testing.T) {
	t.Parallel()
	if got := localsolve.Config(nil); got != "" {
		t.Errorf("%q", got)
	}
	const want = `allow_private: ["10.0.0.1/32", "10.0.0.2/32"]`
	if got := localsolve.Config([]string{"10.0.0.1/32", "10.0.0.2/32"}); !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for a, want := range map[string]bool{
		"93.184.216.34": true, "10.0.0.1": false, "203.0.113.7": false, "127.0.0.1": false, "169.254.169.254": false, "::1": false,
	} {
		if got := egress.Public(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s public: %v", a, got)
		}
	}
}
