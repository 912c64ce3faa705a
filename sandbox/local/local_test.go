package local_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/localtest"
)

func TestMain(m *testing.M) {
	local.Stage()
	os.Exit(m.Run())
}

func config(t *testing.T) local.Config {
	t.Helper()
	return localtest.Config(t)
}

func setup(t *testing.T, change ...func(*local.Config)) *local.Driver {
	t.Helper()
	return localtest.Driver(t, change...)
}

func TestPromises(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Harness{Driver: setup(t), Commands: true})
}

func TestPromisesWithCopies(t *testing.T) {
	t.Parallel()
	d := setup(t, func(c *local.Config) { c.Fork = "copy" })
	if got := d.Traits().ForkHow; got != "copy" {
		t.Errorf("ForkHow is %q", got)
	}
	sandboxtest.Run(t, sandboxtest.Harness{Driver: d, Commands: true})
}

// TestForgottenReaderHoldsNothing closes a sandbox whose open file nobody reads
// or closes: Close returns, and the reader ends.
func TestForgottenReaderHoldsNothing(t *testing.T) {
	t.Parallel()
	sb, err := setup(t).Open(t.Context(), sandbox.Spec{Name: "forgotten"})
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.Put(t.Context(), "/tmp/f", bytes.NewReader(make([]byte, 32<<20)), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, err := sb.Get(ctx, "/tmp/f")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("read after the context's end: %v", err)
	}
	// Of a small file the command is over at once; only its output waits.
	if err := sb.Put(t.Context(), "/tmp/s", strings.NewReader("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		small, err := sb.Get(t.Context(), "/tmp/s")
		if err != nil || small == nil {
			t.Fatal(err)
		}
	}
	forgotten, err := sb.Get(t.Context(), "/tmp/f")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- sb.Close(context.Background()) }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a reader that nobody reads")
	}
	if _, err := io.Copy(io.Discard, forgotten); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("read after Close: %v, want ErrGone", err)
	}
}
