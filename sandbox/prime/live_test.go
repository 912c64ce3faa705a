package prime_test

import (
	"context"
	"os"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/prime"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

// TestLivePromises runs the suite against the service itself, where the environment
// has a key (PRIME_API_KEY) and an image with git (YUDAI_PRIME_IMAGE). What it makes is removed.
func TestLivePromises(t *testing.T) {
	t.Parallel()
	c := prime.DefaultConfig()
	c.Image, c.TeamID = os.Getenv("YUDAI_PRIME_IMAGE"), os.Getenv("PRIME_TEAM_ID")
	if os.Getenv(c.APIKeyEnv) == "" || c.Image == "" {
		t.Skip("PRIME_API_KEY and YUDAI_PRIME_IMAGE are not set: nothing is run at the service")
	}
	d, err := prime.NewTest(c, book(t, t.TempDir()), zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the end: %v", err)
		}
	})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "warm"}) // the first use of an image may take ten minutes, for which no promise has the patience
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Freeze(t.Context(), sb); err != nil { // finds out whether there are checkpoints
		t.Log(err)
		if err := sb.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := d.Thaw(t.Context(), "warm"); err != nil {
		t.Error(err)
	}
	sandboxtest.Run(t, sandboxtest.Harness{Driver: d, Commands: true})
}
