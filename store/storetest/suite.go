package storetest

import (
	"testing"
	"time"
)

// Promise is one sentence an engine has to keep.
type Promise struct {
	Name  string
	Check func(t testing.TB, s Store, clock *Clock)
}

// Promises are all of them. Each is checked on a fresh store.
func Promises() []Promise {
	var out []Promise
	for _, part := range [][]Promise{
		intakePromises(), readPromises(), leasePromises(), admitPromises(), applyPromises(),
		endPromises(), wavePromises(), followPromises(), trackPromises(), stepPromises(), effectPromises(), crowdPromises(), healPromises(),
	} {
		out = append(out, part...)
	}
	return out
}

// Run checks every promise against stores made by open, which must be empty and
// are closed here.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) Store) {
	t.Helper()
	for _, p := range Promises() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			clock := &Clock{}
			s := open(t, clock.Now)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			p.Check(t, s, clock)
		})
	}
}
