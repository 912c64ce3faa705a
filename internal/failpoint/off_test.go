//go:build !failpoints

package failpoint_test

import (
	"net/http"
	"testing"

	"github.com/yudai-dev/yudai/internal/failpoint"
)

// TestInert holds the ordinary build to doing nothing, whatever the environment says.
func TestInert(t *testing.T) {
	t.Setenv("YUDAI_FAILPOINT", "store.accept.before=kill")
	t.Setenv("YUDAI_MUTATION", string(failpoint.NoLookup))
	failpoint.Hit("store", "accept", "before")
	if failpoint.Mutated(failpoint.NoLookup) {
		t.Error("the ordinary build has the mutation that the environment names")
	}
	if failpoint.Enabled {
		t.Error("the ordinary build says that it has failpoints")
	}
	if next := http.DefaultTransport; failpoint.Transport("github", next) != next {
		t.Error("the ordinary build wraps the transport")
	}
	op := t.Name()
	if n := testing.AllocsPerRun(100, func() { failpoint.Hit("store", op, "before") }); n != 0 {
		t.Errorf("a point costs %v allocations in the ordinary build", n)
	}
}
