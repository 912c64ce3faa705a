package bundle_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/solve"
)

// statements are the names of the chain's files.
func (w *world) statements() []string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, "statements", "*.dsse.json"))
	w.ok(err)
	return found
}

// chained checks that the bundles of these solves are one chain, in some order, without a gap.
func (w *world) chained(ids ...solve.ID) {
	w.t.Helper()
	byNumber := map[int]string{} // number: what the next one must name
	previous := map[int]string{}
	for _, id := range ids {
		data := w.exported(id)
		b := w.read(data)
		w.ok(b.Verify(b.Key))
		c := b.Statement.Predicate.Chain
		if _, twice := previous[c.Number]; twice {
			w.t.Fatalf("two statements have the number %d", c.Number)
		}
		previous[c.Number], byNumber[c.Number] = c.Previous, b.Digest()
	}
	for n := 1; n <= len(ids); n++ {
		if got, ok := previous[n]; !ok || got != byNumber[n-1] {
			w.t.Fatalf("statement %d names %q, want %q", n, got, byNumber[n-1])
		}
	}
}

func TestSigningTwiceAddsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.decided("one")
	first := w.bundled(rec)
	rec.Solve.State, rec.Solve.Seq = solve.StatePublishing, 9 // as publishing finds it
	if again := w.bundled(rec); !bytes.Equal(first, again) || len(w.statements()) != 1 {
		t.Errorf("%d statements", len(w.statements()))
	}
	w.signer = w.open("2.0") // the next process
	if again := w.bundled(rec); !bytes.Equal(first, again) {
		t.Error("the next process signed anew")
	}
}

// TestAnotherDecisionIsAnotherLink: a decision that was never stored, and came out otherwise in
// the next version, stays in the chain.
func TestAnotherDecisionIsAnotherLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.decided("one")
	w.bundled(rec)
	d := *rec.Solve.Decision
	d.Rule = append([]string{"another rule"}, d.Rule...)
	rec.Solve.Decision = &d
	c := w.read(w.bundled(rec)).Statement.Predicate.Chain
	if c.Number != 2 || c.Previous == "" {
		t.Errorf("%+v", c)
	}
}

// TestCrashAnywhere fails the store at every call, and signs again as the next process does.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	died := errors.New("died")
	for nth := 1; ; nth++ {
		w := newWorld(t)
		w.bundled(w.decided("before"))
		rec := w.decided("one")
		w.store.calls, w.store.fails, w.store.err = 0, nth, died
		err := w.signer.Sign(t.Context(), rec, "base-report.json")
		w.store.fails = 0
		if err == nil {
			if nth < 5 {
				t.Fatalf("signing made only %d calls", nth-1)
			}
			return
		}
		if !errors.Is(err, died) || len(w.statements()) != 1 {
			t.Fatalf("call %d: %v, %d statements", nth, err, len(w.statements()))
		}
		// Half a file of a process that was killed while it wrote.
		w.ok(os.WriteFile(filepath.Join(w.dir, "statements", ".yudai-1.tmp"), []byte("{"), 0o600))
		w.signer = w.open("1.0")
		w.bundled(w.decided("between"))
		w.bundled(rec)
		w.chained("before", "between", "one")
		if left, _ := filepath.Glob(filepath.Join(w.dir, "statements", ".*.tmp")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// TestConcurrentSolvesMakeOneChain: signers of several processes share a directory.
func TestConcurrentSolvesMakeOneChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	signers := []*bundle.Signer{w.signer, w.open("1.0"), w.open("1.0")}
	var records []solve.Record
	var ids []solve.ID
	for i := range 24 {
		records = append(records, w.decided(solve.ID(fmt.Sprintf("solve%d", i))))
		ids = append(ids, records[i].Solve.ID)
	}
	var all sync.WaitGroup
	for i, rec := range records {
		all.Go(func() {
			if err := signers[i%len(signers)].Sign(t.Context(), rec); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.chained(ids...)
}

func TestNothingToSignOrExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.decided("one")
	if _, err := w.signer.Export(t.Context(), "one"); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("export before signing: %v", err)
	}
	lost := rec
	lost.Runs = append([]solve.Run{}, rec.Runs...)
	c := *rec.Runs[1].Candidate
	c.Artifact = "gone.patch"
	lost.Runs[1].Candidate = &c
	if err := w.signer.Sign(t.Context(), lost); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("signed without the champion's patch: %v", err)
	}
	lost.Solve.Decision = nil
	if err := w.signer.Sign(t.Context(), lost); err == nil {
		t.Error("signed without a decision")
	}
}

// TestChangedArtifactIsNotExported: what was signed is exported, or nothing.
func TestChangedArtifactIsNotExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bundled(w.decided("one"))
	w.ok(w.store.PutArtifact(t.Context(), "one", "run-1.patch", []byte("other")))
	write, err := w.signer.Export(t.Context(), "one")
	w.ok(err)
	err = write(&bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "run-1.patch of solve one was changed after it was signed") {
		t.Errorf("%v", err)
	}
}

func TestNoChampion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.decided("one")
	for i := range rec.Runs {
		rec.Runs[i].State = solve.RunFailed
		rec.Runs[i].Verdict.Outcome = solve.Failed
	}
	d := solve.Decide(rec.Solve, rec.Runs, rec.Rule())
	rec.Solve.Decision = &d
	b := w.read(w.bundled(rec))
	w.ok(b.Verify(b.Key))
	if d, err := b.Decide(); err != nil || d.Champion != 0 || len(b.Statement.Subject) != 1 {
		t.Errorf("%+v %v %v", d, err, b.Statement.Subject)
	}
}

// TestChampionsTree is a subject where the commit is known.
func TestChampionsTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.decided("one")
	data, err := solve.Commit{Tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}.Encode()
	w.ok(err)
	w.ok(w.store.PutArtifact(t.Context(), "one", solve.CommitArtifact, data))
	subject := w.read(w.bundled(rec)).Statement.Subject
	if len(subject) != 3 || subject[2].Digest["gitTree"] != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("%v", subject)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.bundled(w.decided("one"))
	key, err := bundle.ReadKey(w.dir)
	w.ok(err)
	w.ok(accepted(first, key))
	path := filepath.Join(w.dir, bundle.KeyFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	private, err := os.ReadFile(path)
	w.ok(err)
	if bytes.Contains(first, bytes.TrimSpace(private)) || bytes.Contains(first, private[30:60]) {
		t.Error("the bundle holds the private key")
	}

	w.ok(os.Remove(path)) // the operator wants a new one
	w.signer = w.open("1.0")
	second := w.bundled(w.decided("two"))
	if err := accepted(second, key); err == nil {
		t.Error("the old key verifies what the new one signed")
	}
	if again := w.exported("one"); !bytes.Equal(again, first) {
		t.Error("a bundle of the old key is exported otherwise")
	}
	w.chained("one", "two")
}

func TestUnusableDirectories(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"key":       {bundle.KeyFile, "holds no Ed25519 key; restore it, or remove it"},
		"statement": {"statements/00000003-one.dsse.json", "which cannot be read (restore it from a copy)"},
	} {
		w := newWorld(t)
		w.ok(os.WriteFile(filepath.Join(w.dir, c.file), []byte("damaged"), 0o600))
		_, err := bundle.New(t.Context(), w.dir, w.store, "1.0")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), w.dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := bundle.ReadKey(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
