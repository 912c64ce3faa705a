package e2b

import (
	"context"
	"os"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

// TestLivePromises runs the suite against the service itself, with the key in
// E2B_API_KEY. E2B_TEST_TEMPLATE names another template than ours, which has to be
// built first. Everything that is made is removed.
func TestLivePromises(t *testing.T) {
	t.Parallel()
	if os.Getenv("E2B_API_KEY") == "" {
		t.Skip("E2B_API_KEY is not set: the suite runs against the stub alone")
	}
	c := DefaultConfig()
	if template := os.Getenv("E2B_TEST_TEMPLATE"); template != "" {
		c.Template = template
	}
	d, err := New(c, bookIn(t, t.TempDir()), zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the service: %v", err)
		}
	})
	sandboxtest.Run(t, sandboxtest.Harness{Driver: d, Commands: true})
}
