package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// Dump is all that a store says about one solve.
type Dump struct {
	Solve       solve.Solve
	Runs        []solve.Run
	Events      []solve.Entry
	Effects     []solve.Effect
	Transcripts map[int]string
}

// DumpOf reads it; a solve that is not there gives a zero dump.
func DumpOf(t testing.TB, s Store, id solve.ID) Dump {
	t.Helper()
	ctx := context.Background()
	one, err := s.Solve(ctx, id)
	if errors.Is(err, solve.ErrNotFound) {
		return Dump{}
	}
	d := Dump{Solve: one, Transcripts: map[int]string{}}
	var errs [4]error
	errs[0] = err
	d.Runs, errs[1] = s.Runs(ctx, id)
	d.Events, errs[2] = s.Events(ctx, id, 0)
	d.Effects, errs[3] = s.SolveEffects(ctx, id)
	for _, r := range d.Runs {
		text, err := s.Transcript(ctx, id, r.N)
		errs[0] = errors.Join(errs[0], err)
		d.Transcripts[r.N] = string(text)
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatalf("read solve %s: %v", id, err)
	}
	return d
}

func (w *world) dump(id solve.ID) Dump {
	w.Helper()
	return DumpOf(w.TB, w.s, id)
}

// same fails if two values differ.
func (w *world) same(want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("differs (-want +got):\n%s", diff)
	}
}
