package memory_test

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/memory"
	"github.com/yudai-dev/yudai/store/storetest"
)

var _ storetest.Store = (*memory.Store)(nil)

func TestPromises(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(_ *testing.T, now func() time.Time) storetest.Store { return memory.New(now) })
}

func TestChaos(t *testing.T) {
	t.Parallel()
	for seed := uint64(2); seed < 5; seed++ {
		clock := &storetest.Clock{}
		s := memory.New(clock.Now)
		storetest.Chaos(t, s, clock, seed, 300, nil)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClosedStoreGivesErrors(t *testing.T) {
	t.Parallel()
	s := memory.New(nil)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Solve(t.Context(), "a"); err == nil {
		t.Error("a closed store was read")
	}
	if err := s.Heartbeat(t.Context(), "n", time.Hour); err == nil {
		t.Error("a closed store was written")
	}
}

// TestNothingIsSignalledForNoChange matters to callers that write when they are
// signalled: they would never rest.
func TestNothingIsSignalledForNoChange(t *testing.T) {
	t.Parallel()
	s := memory.New(nil)
	if err := s.Heartbeat(t.Context(), "n", time.Hour); err != nil {
		t.Fatal(err)
	}
	watch := s.Watch(t.Context())
	if list, err := s.Admit(t.Context(), "n", solve.Caps{}); len(list) > 0 || err != nil {
		t.Fatal(list, err)
	}
	select {
	case <-watch:
		t.Error("an admission of nothing was signalled")
	default:
	}
}
