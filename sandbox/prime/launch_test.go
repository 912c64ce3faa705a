package prime_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/primesim"
)

// TestLaunchedIsNotIdle: a sandbox in which only a launched program runs is not idle as
// long as somebody has it, and reaches the one host that it was opened for. After the
// owner's death the service ends it for idleness.
func TestLaunchedIsNotIdle(t *testing.T) {
	t.Parallel()
	const host = "yudai.example.org"
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{Launch: true, TTL: 20 * time.Hour, Network: sandbox.Network{Allow: []string{host}}})
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: "exec sleep 6000"}); err != nil {
		t.Fatal(err)
	}
	for range 4 { // two hours are the limit
		awaitUse(t, s)
		s.Advance(90 * time.Minute)
	}
	awaitUse(t, s)
	if runs, err := sb.(sandbox.Launcher).Launched(t.Context()); err != nil || !runs {
		t.Fatalf("after six hours: %v, %v", runs, err)
	}
	for _, r := range s.Starts() {
		if r.Allow == nil || !slices.Equal(r.Allow, []string{host}) || !r.Applied {
			t.Errorf("a command could reach %v, applied %v", r.Allow, r.Applied)
		}
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "b", Network: sandbox.Network{Socket: t.TempDir()}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a socket: %v, want ErrUnsupported", err)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	unused(t)
}

// unused shows that the limit is in force where nobody launches.
func unused(t *testing.T) {
	t.Helper()
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{})
	s.Advance(121 * time.Minute)
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("an idle sandbox: %v, want ErrGone", err)
	}
}

// awaitUse waits until the driver has used the sandbox of its own accord, once more, and to the end.
func awaitUse(t *testing.T, s *primesim.Server) {
	t.Helper()
	before := len(s.Starts())
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(30 * time.Second); len(s.Starts()) < before+2; <-tick.C {
		if time.Now().After(until) {
			t.Fatal("the sandbox is not used")
		}
	}
}
