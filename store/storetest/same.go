package storetest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

// SequencesEnv is how many random sequences [SameAs] plays.
const SequencesEnv = "YUDAI_STORE_SEQUENCES"

// SetSequences makes [SameAs] play as many sequences as the environment says, else usual. It is for TestMain.
func SetSequences(usual int) error {
	n := os.Getenv(SequencesEnv)
	if n == "" {
		n = strconv.Itoa(usual)
	}
	return flag.Set("rapid.checks", n)
}

// SameAs plays random sequences of operations on two engines, each made or emptied
// for every sequence, and compares every answer and, at the end, everything both can
// be asked. clock is that of both. A difference is shrunk and printed with its seed.
func SameAs(t *testing.T, clock *Clock, model, engine func() Store) {
	t.Helper()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &pair{now: start}
	clock.now = &p.now
	rapid.Check(t, func(r *rapid.T) {
		p.Helper, p.Fatalf = r.Helper, r.Fatalf
		p.ctx, p.now = t.Context(), start
		p.a, p.b = model(), engine()
		r.Repeat(p.moves())
		p.sameState()
		p.drain()
		p.sameState()
	})
}

// answer is what an operation said, in a form that can be compared: times
// without their zones' names, errors by what callers ask of them.
func answer(value any, err error) string {
	for _, sentinel := range []error{solve.ErrNotFound, solve.ErrLeaseLost, solve.ErrTransition} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if string(data) == "null" {
		return "[]" // an empty list, in either form
	}
	return string(data)
}

func text(data []byte, err error) (string, error) { return string(data), err }

// ask asks both stores and fails if they answer differently.
func ask[V any](p *pair, what string, question func(s Store) (V, error)) (V, error) {
	p.Helper()
	want, wantErr := question(p.a)
	got, gotErr := question(p.b)
	if diff := cmp.Diff(answer(want, wantErr), answer(got, gotErr)); diff != "" {
		p.Fatalf("%s differs (-model +engine):\nmodel error: %v\nengine error: %v\n%s", what, wantErr, gotErr, diff)
	}
	return want, wantErr
}

// sameState compares everything both stores can be asked.
func (p *pair) sameState() {
	p.Helper()
	for _, id := range p.ids() {
		if _, err := ask(p, "solve "+string(id), func(s Store) (solve.Solve, error) { return s.Solve(p.ctx, id) }); err != nil {
			continue
		}
		runs, _ := ask(p, "runs of "+string(id), func(s Store) ([]solve.Run, error) { return s.Runs(p.ctx, id) })
		for _, r := range runs {
			_, _ = ask(p, "run", func(s Store) (solve.Run, error) { return s.Run(p.ctx, id, r.N) })
			_, _ = ask(p, "transcript", func(s Store) (string, error) { return text(s.Transcript(p.ctx, id, r.N)) })
		}
		for after := range uint64(3) {
			_, _ = ask(p, "events of "+string(id), func(s Store) ([]solve.Entry, error) { return s.Events(p.ctx, id, 4*after) })
		}
		effects, _ := ask(p, "effects of "+string(id), func(s Store) ([]solve.Effect, error) { return s.SolveEffects(p.ctx, id) })
		for _, e := range effects {
			_, _ = ask(p, "effect "+e.Key, func(s Store) (solve.Effect, error) { return s.Effect(p.ctx, e.Key) })
		}
		for _, name := range artifactNames() {
			_, _ = ask(p, "artifact", func(s Store) (string, error) { return text(s.Artifact(p.ctx, id, name)) })
		}
	}
	_, _ = ask(p, "live solves", func(s Store) ([]solve.Solve, error) { return s.LiveSolves(p.ctx) })
	for _, ago := range []time.Duration{0, 3 * time.Second, time.Hour} {
		_, _ = ask(p, "spent", func(s Store) ([]solve.Spending, error) { return s.Spent(p.ctx, p.now.Add(-ago)) })
	}
	_, _ = ask(p, "track records", func(s Store) ([]solve.TrackRecord, error) { return s.TrackRecords(p.ctx) })
	_, _ = ask(p, "asks", func(s Store) ([]solve.Command, error) { return s.Commands(p.ctx) })
	now := p.now
	for _, later := range []time.Duration{0, 5 * time.Second, time.Hour} {
		p.now = now.Add(later)
		_, _ = ask(p, fmt.Sprintf("due effects in %s", later), func(s Store) ([]solve.Effect, error) { return s.DueEffects(p.ctx) })
	}
	p.now = now
	for repo := range int64(3) {
		for issue := range 4 {
			_, _ = ask(p, "latest solve", func(s Store) (solve.Solve, error) { return s.LatestSolve(p.ctx, repo, issue) })
		}
	}
}
