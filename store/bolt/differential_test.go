package bolt_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bbolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/store/memory"
	"github.com/yudai-dev/yudai/store/storetest"
)

// sequencesEnv is how many random sequences TestSameAsTheModel plays.
const sequencesEnv = "YUDAI_STORE_SEQUENCES"

// setSequences makes rapid play as many sequences as the environment says, for TestMain.
func setSequences() error {
	n := os.Getenv(sequencesEnv)
	if n == "" {
		n = "400"
	}
	return flag.Set("rapid.checks", n)
}

// TestSameAsTheModel plays random sequences of operations on this engine and on
// package memory's plain maps, and compares every answer and, at the end,
// everything both can be asked. A difference is shrunk and printed with its seed.
func TestSameAsTheModel(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &pair{now: start}
	c := fastConfig(t)
	c.Now = func() time.Time { return p.now }
	s := open(t, c)
	s.DB().NoSync = true // nothing is killed here
	rapid.Check(t, func(r *rapid.T) {
		p.Helper, p.Fatalf = r.Helper, r.Fatalf
		p.ctx, p.now = t.Context(), start
		p.a, p.b = memory.New(c.Now), s
		clearStore(t, s)
		r.Repeat(p.moves())
		p.sameState()
		p.drain()
		p.sameState()
	})
}

// fastDir is a directory in memory where there is one: thousands of sequences
// need no disk, where nothing is killed.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "yudai-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func fastConfig(t testing.TB) bolt.Config {
	c := bolt.DefaultConfig()
	c.Path = filepath.Join(fastDir(t), "yudai.db")
	return c
}

// clearStore empties every bucket but the one that holds the layout's number.
func clearStore(t *testing.T, s *bolt.Store) {
	t.Helper()
	err := s.DB().Update(func(b *bbolt.Tx) error {
		var names [][]byte
		err := b.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if string(name) != "meta" {
				names = append(names, append([]byte(nil), name...))
			}
			return nil
		})
		for _, name := range names {
			err = errors.Join(err, b.DeleteBucket(name))
			_, made := b.CreateBucket(name)
			err = errors.Join(err, made)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(s.DB().Path())
	for _, sub := range []string{"transcripts", "artifacts"} {
		if err := os.RemoveAll(filepath.Join(dir, sub)); err != nil {
			t.Fatal(err)
		}
	}
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
func ask[V any](p *pair, what string, question func(s storetest.Store) (V, error)) (V, error) {
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
		if _, err := ask(p, "solve "+string(id), func(s storetest.Store) (solve.Solve, error) { return s.Solve(p.ctx, id) }); err != nil {
			continue
		}
		runs, _ := ask(p, "runs of "+string(id), func(s storetest.Store) ([]solve.Run, error) { return s.Runs(p.ctx, id) })
		for _, r := range runs {
			ask(p, "run", func(s storetest.Store) (solve.Run, error) { return s.Run(p.ctx, id, r.N) })
			ask(p, "transcript", func(s storetest.Store) (string, error) { return text(s.Transcript(p.ctx, id, r.N)) })
		}
		for after := range uint64(3) {
			ask(p, "events of "+string(id), func(s storetest.Store) ([]solve.Entry, error) { return s.Events(p.ctx, id, 4*after) })
		}
		effects, _ := ask(p, "effects of "+string(id), func(s storetest.Store) ([]solve.Effect, error) { return s.SolveEffects(p.ctx, id) })
		for _, e := range effects {
			ask(p, "effect "+e.Key, func(s storetest.Store) (solve.Effect, error) { return s.Effect(p.ctx, e.Key) })
		}
		for _, name := range artifactNames() {
			ask(p, "artifact", func(s storetest.Store) (string, error) { return text(s.Artifact(p.ctx, id, name)) })
		}
	}
	ask(p, "live solves", func(s storetest.Store) ([]solve.Solve, error) { return s.LiveSolves(p.ctx) })
	for _, ago := range []time.Duration{0, 3 * time.Second, time.Hour} {
		ask(p, "spent", func(s storetest.Store) ([]solve.Spending, error) { return s.Spent(p.ctx, p.now.Add(-ago)) })
	}
	ask(p, "track records", func(s storetest.Store) ([]solve.TrackRecord, error) { return s.TrackRecords(p.ctx) })
	ask(p, "asks", func(s storetest.Store) ([]solve.Command, error) { return s.Commands(p.ctx) })
	now := p.now
	for _, later := range []time.Duration{0, 5 * time.Second, time.Hour} {
		p.now = now.Add(later)
		ask(p, fmt.Sprintf("due effects in %s", later), func(s storetest.Store) ([]solve.Effect, error) { return s.DueEffects(p.ctx) })
	}
	p.now = now
	for repo := range int64(3) {
		for issue := range 4 {
			ask(p, "latest solve", func(s storetest.Store) (solve.Solve, error) { return s.LatestSolve(p.ctx, repo, issue) })
		}
	}
}
