package solver_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/solve"
)

// bundled reads the bundle of a solve as a third party does, and returns its statement.
func (w *world) bundled(id solve.ID) bundle.Statement {
	w.Helper()
	write, err := w.signer(w.store).Export(context.Background(), id)
	w.must(err)
	var data bytes.Buffer
	w.must(write(&data))
	b, err := bundle.Read(&data)
	w.must(err)
	w.must(b.Verify(b.Key))
	_, err = b.Decide()
	w.must(err)
	return b.Statement
}

// signer is that of a process that uses the store.
func (w *world) signer(store bundle.Store) *bundle.Signer {
	w.Helper()
	s, err := bundle.New(context.Background(), w.bundles, store, "test")
	w.must(err)
	return s
}

// TestEveryDecisionIsSigned: with a champion or without, and nothing else.
func TestEveryDecisionIsSigned(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		good, bad := w.ask(with("good", "bad")), w.ask(with("bad"))
		w.final(good, solve.StateSolved)
		w.final(bad, solve.StateUnsolved)
		st := w.bundled(good)
		if len(st.Subject) != 3 || len(st.Predicate.Candidates) != 2 || st.Predicate.Candidates[0].Transcript == "" {
			w.Errorf("%+v", st)
		}
		for _, name := range []string{"base-report.json", "run-1.patch", "run-1-tests.log", "run-2.patch", "run-2-tests.log"} {
			if !strings.Contains(blobs(st), " "+name+" ") {
				w.Errorf("the bundle has no %s, but%s", name, blobs(st))
			}
		}
		if st := w.bundled(bad); len(st.Subject) != 1 {
			w.Errorf("%+v", st.Subject)
		}

		refused := w.ask(func(s *solve.Solve) { s.Request.Base = "nowhere" })
		w.final(refused, solve.StateFailed)
		if _, err := w.signer(w.store).Export(w.Context(), refused); !errors.Is(err, solve.ErrNotFound) {
			w.Errorf("a solve without a decision was signed: %v", err)
		}
	})
}

func blobs(st bundle.Statement) string {
	out := " "
	for _, b := range st.Predicate.Blobs {
		out += b.Name + " "
	}
	return out
}

// unsigned is a signer that never can.
type unsigned struct{ calls int }

func (u *unsigned) Sign(context.Context, solve.Record, ...string) error {
	u.calls++
	return errors.New("the disk is read-only")
}

// TestSolvesEndUnsigned: what cannot be signed is decided and published all the same.
func TestSolvesEndUnsigned(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		u := &unsigned{}
		w.signs = u
		w.start("a")
		w.final(w.ask(), solve.StateSolved)
		if u.calls < 2 {
			w.Errorf("it was tried %d times", u.calls)
		}
	})
}
