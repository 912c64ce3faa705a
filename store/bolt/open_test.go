package bolt_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/store/storetest"
)

// queued puts one solve into a store.
func queued(t testing.TB, s *bolt.Store, id solve.ID) solve.Solve {
	t.Helper()
	one, _, err := s.Create(t.Context(), solve.Solve{ID: id, Repo: solve.Repo{ID: 4711}, Trigger: solve.Trigger{Key: string(id)}, Created: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func closeStore(t testing.TB, s *bolt.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// mustFail fails the test unless the error's text has all the words.
func mustFail(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestOnlyTheOwnerMayRead(t *testing.T) {
	t.Parallel()
	c := config(t)
	s := open(t, c)
	id := queued(t, s, "a").ID
	if err := s.PutArtifact(t.Context(), id, "x", nil); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(filepath.Dir(c.Path), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecondProcessIsToldWhy(t *testing.T) {
	t.Parallel()
	c := config(t)
	open(t, c)
	_, err := bolt.Open(c)
	mustFail(t, err, "another yudai uses", c.Path, "store.path")
}

func TestNewerLayoutIsRefused(t *testing.T) {
	t.Parallel()
	c := config(t)
	s, err := bolt.OpenWith(c, func(*bbolt.Tx) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	_, err = bolt.Open(c)
	mustFail(t, err, "layout 6", "up to 5", c.Path)
}

func TestMigrationKeepsACopyAndIsWhole(t *testing.T) {
	t.Parallel()
	c := config(t)
	s := open(t, c)
	want := queued(t, s, "a")
	closeStore(t, s)

	step := func(b *bbolt.Tx) error {
		_, err := b.CreateBucket([]byte("new"))
		return err
	}
	broken := func(b *bbolt.Tx) error {
		_, err := b.CreateBucket([]byte("half"))
		return errors.Join(err, errors.New("broken step"))
	}
	_, err := bolt.OpenWith(c, step, broken)
	mustFail(t, err, "layout 7", "broken step")

	s, err = bolt.OpenWith(c, step, func(b *bbolt.Tx) error {
		if b.Bucket([]byte("half")) != nil || b.Bucket([]byte("new")) == nil {
			t.Error("the first step is not kept, or a part of the broken one is")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	if got, err := s.Solve(t.Context(), "a"); err != nil || got.ID != want.ID {
		t.Errorf("after the migration: %v", err)
	}
	old := c
	old.Path = c.Path + ".v5.bak"
	if got, err := open(t, old).Solve(t.Context(), "a"); err != nil || got.ID != want.ID {
		t.Errorf("in the copy: %v", err)
	}
}

func TestNewerRecordIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, config(t))
	queued(t, s, "a")
	for record, words := range map[string][]string{
		`{"v":2,"id":"a"}`: {"version 2", "up to 1"},
		`{"v":2,"id":[]}`:  {"version 2", "up to 1"},
		`{"id":"a"}`:       {"without a version"},
		`{"v":1,"id":[]}`:  {"solve a"},
		`garbage`:          {"solve a"},
	} {
		err := s.DB().Update(func(b *bbolt.Tx) error {
			return b.Bucket([]byte("solves")).Put([]byte("a"), []byte(record))
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Solve(t.Context(), "a")
		mustFail(t, err, words...)
		_, _, err = s.Apply(t.Context(), solve.Change{Solve: "a", Event: solve.Aborted{}})
		mustFail(t, err, words...)
	}
}

// TestDamagedRecordIsNamed: of many records that are read at once, the error names the one.
func TestDamagedRecordIsNamed(t *testing.T) {
	t.Parallel()
	f := newFleet(t, config(t), 1, 2)
	id := f.runs[0].Solve
	_, err := f.Accept(f.ctx, solve.Delivery{GUID: "guid"}, solve.Intent{Command: &solve.Command{Kind: solve.CommandHelp}})
	f.ok(t, err)
	reads := map[string]struct {
		read func() error
		word string
	}{
		"runs":    {func() error { _, err := f.Runs(f.ctx, id); return err }, "run 1 of solve " + string(id)},
		"events":  {func() error { _, err := f.Events(f.ctx, id, 0); return err }, "event 1 of solve " + string(id)},
		"effects": {func() error { _, err := f.SolveEffects(f.ctx, id); return err }, "effect " + string(id) + "/check"},
		"asks":    {func() error { _, err := f.Commands(f.ctx); return err }, "ask guid"},
	}
	for bucket, c := range reads {
		err := f.DB().Update(func(b *bbolt.Tx) error {
			k, _ := b.Bucket([]byte(bucket)).Cursor().First()
			return b.Bucket([]byte(bucket)).Put(bytes.Clone(k), []byte("damage"))
		})
		f.ok(t, err)
		mustFail(t, c.read(), c.word)
	}
}

func TestDamagedFileIsAnError(t *testing.T) {
	t.Parallel()
	c := config(t)
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Path, bytes.Repeat([]byte("damage"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := bolt.Open(c)
	mustFail(t, err, c.Path)
}

func TestOpenEndsTheLeasesOfTheDeadProcess(t *testing.T) {
	t.Parallel()
	c := config(t)
	f := newFleet(t, c, 1, 2)
	closeStore(t, f.Store)
	s := open(t, c)
	if err := s.Heartbeat(t.Context(), fleetNode, time.Hour); !errors.Is(err, solve.ErrLeaseLost) {
		t.Errorf("a node of the last boot lives on: %v", err)
	}
	if err := s.Heartbeat(t.Context(), "new", time.Hour); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Rescue(t.Context(), "new"); err != nil || len(list) != 2 {
		t.Errorf("rescued %d runs, want 2: %v", len(list), err)
	}
}

// TestOpenEndsTheClaimsOfTheDeadProcess: what the last boot was writing is due at
// once, and the next writer knows that the call may have been made.
func TestOpenEndsTheClaimsOfTheDeadProcess(t *testing.T) {
	t.Parallel()
	c := config(t)
	f := newFleet(t, c, 1, 1)
	due, err := f.DueEffects(f.ctx)
	if err != nil || len(due) == 0 {
		t.Fatalf("%d effects are due: %v", len(due), err)
	}
	for _, e := range due {
		claimed, err := f.ClaimEffect(f.ctx, e.Key, fleetNode, time.Hour)
		f.ok(t, err)
		f.ok(t, f.SendingEffect(f.ctx, e.Key, claimed.Token))
	}
	closeStore(t, f.Store)
	s := open(t, c)
	again, err := s.DueEffects(t.Context())
	if err != nil || len(again) != len(due) {
		t.Fatalf("%d of %d effects are due after the restart: %v", len(again), len(due), err)
	}
	for _, e := range again {
		if e.SentAt.IsZero() || e.Token != 1 {
			t.Errorf("the effect lost what was known of its call: %+v", e)
		}
	}
}

// closeIssue ends a solve, so that its issue can have another.
func closeIssue(t testing.TB, s *bolt.Store, id solve.ID) {
	t.Helper()
	if _, err := s.RequestCancel(t.Context(), id, "me", ""); err != nil {
		t.Fatal(err)
	}
}

func TestCompactKeepsEverything(t *testing.T) {
	t.Parallel()
	c := config(t)
	s := open(t, c)
	queued(t, s, "a")
	before := storetest.DumpOf(t, s, "a")
	left := filepath.Join(filepath.Dir(c.Path), ".yudai-1.tmp") // of a crash
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(); err != nil {
		t.Fatal(err)
	}
	if after := storetest.DumpOf(t, s, "a"); before.Solve.ID != after.Solve.ID {
		t.Errorf("after compaction: %+v", after)
	}
	closeIssue(t, s, "a")
	closeStore(t, s)
	open(t, c)
	entries, err := filepath.Glob(filepath.Join(filepath.Dir(c.Path), ".*"))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
