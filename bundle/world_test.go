package bundle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/memory"
)

// world is a store with a decided solve, and a signer for it.
type world struct {
	t      *testing.T
	store  *faulty
	solves int64
	dir    string
	signer *bundle.Signer
}

// faulty is a store that fails from its nth call on; 0 is never.
type faulty struct {
	*memory.Store
	mu           sync.Mutex
	calls, fails int
	err          error
}

func (f *faulty) count() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.fails > 0 && f.calls >= f.fails {
		return f.err
	}
	return nil
}

func (f *faulty) PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error {
	if err := f.count(); err != nil {
		return err
	}
	return f.Store.PutArtifact(ctx, id, name, data)
}

func (f *faulty) Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error) {
	if err := f.count(); err != nil {
		return nil, err
	}
	return f.Store.Artifact(ctx, id, name)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: &faulty{Store: memory.New(time.Now)}, dir: filepath.Join(t.TempDir(), "bundles")}
	w.signer = w.open("1.0")
	return w
}

func (w *world) open(version string) *bundle.Signer {
	w.t.Helper()
	s, err := bundle.New(w.t.Context(), w.dir, w.store, version)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func sum(data string) string {
	s := sha256.Sum256([]byte(data))
	return hex.EncodeToString(s[:])
}

// decided stores a solve of that name with two candidates, and returns its record with the decision.
func (w *world) decided(id solve.ID) solve.Record {
	w.t.Helper()
	w.solves++
	s := solve.Solve{
		V: 1, ID: id, Repo: solve.Repo{ID: w.solves, Owner: "octo", Name: string(id)},
		Issue: solve.Issue{Number: 7, Title: "It breaks <here> & there"}, State: solve.StateQueued,
		Trigger: solve.Trigger{Kind: solve.TriggerAPI, Key: "api:" + string(id)}, Created: time.Unix(1700000000, 0),
	}
	_, _, err := w.store.Create(w.t.Context(), s)
	w.ok(err)
	s.State, s.Base = solve.StateReducing, solve.Base{Branch: "main", SHA: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
	rec := solve.Record{V: solve.RecordVersion, Solve: s}
	for n, patch := range []string{"small\n", "a larger patch\n"} {
		name := "run-" + string(rune('1'+n)) + ".patch"
		log := "run-" + string(rune('1'+n)) + "-tests.log"
		w.ok(w.store.Store.PutArtifact(w.t.Context(), id, name, []byte(patch)))
		w.ok(w.store.Store.PutArtifact(w.t.Context(), id, log, []byte("ok\n")))
		rec.Runs = append(rec.Runs, solve.Run{
			V: 1, Solve: id, N: n + 1, State: solve.RunPassed, Experiment: solve.Experiment{Model: "m" + name[4:5], Record: 60 + n},
			Candidate: &solve.Candidate{
				Artifact: name, SHA256: sum(patch), Files: []solve.FileChange{{Path: "a.go", Op: "modify", Added: n + 1}}, Added: n + 1,
			},
			Verdict: &solve.Verdict{Outcome: solve.Passed, Kept: 5, Fixed: n, Log: log},
		})
	}
	w.ok(w.store.Store.PutArtifact(w.t.Context(), id, "base-report.json", []byte(`{"v":1}`)))
	d := solve.Decide(rec.Solve, rec.Runs, rec.Rule())
	rec.Solve.Decision = &d
	if d.Champion != 2 {
		w.t.Fatalf("the champion is run %d, want 2", d.Champion)
	}
	return rec
}

// bundled signs a record and returns the bundle's bytes.
func (w *world) bundled(rec solve.Record) []byte {
	w.t.Helper()
	w.ok(w.signer.Sign(w.t.Context(), rec, "base-report.json"))
	return w.exported(rec.Solve.ID)
}

func (w *world) exported(id solve.ID) []byte {
	w.t.Helper()
	write, err := w.signer.Export(w.t.Context(), id)
	w.ok(err)
	var out bytes.Buffer
	w.ok(write(&out))
	return out.Bytes()
}

func (w *world) read(data []byte) *bundle.Bundle {
	w.t.Helper()
	b, err := bundle.Read(bytes.NewReader(data))
	w.ok(err)
	return b
}
