package bolt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// TestInspectChangesNothing: a closed store can be read, ended solves and all
// effects too, without a byte of it changing; one in use, from elsewhere, or
// missing cannot.
func TestInspectChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "yudai.db")
	s, err := bolt.Open(bolt.Config{Path: path})
	noError(t, err)
	for _, id := range []solve.ID{"a", "b"} {
		_, _, err := s.Create(t.Context(), solve.Solve{ID: id, Repo: solve.Repo{ID: 1}, Issue: solve.Issue{Number: 1}, Trigger: solve.Trigger{Key: string(id)}})
		noError(t, err)
		_, err = s.RequestCancel(t.Context(), id, "me", "")
		noError(t, err)
	}
	if _, err := bolt.Inspect(path); err == nil || !strings.Contains(err.Error(), "still uses") {
		t.Errorf("a store in use: %v", err)
	}
	noError(t, s.Close())
	before, err := os.ReadFile(path)
	noError(t, err)

	read, err := bolt.Inspect(path)
	noError(t, err)
	list, err := read.Solves(t.Context(), "", 9)
	noError(t, err)
	if len(list) != 2 || list[1].ID != "a" || list[0].State != solve.StateCancelled || list[0].Seq == 0 {
		t.Errorf("solves: %+v", list)
	}
	effects, err := read.Effects(t.Context())
	noError(t, err)
	if len(effects) != 4 || effects[0].Solve != "a" || effects[3].Solve != "b" {
		t.Errorf("effects: %+v", effects)
	}
	if err := read.Heartbeat(t.Context(), "n", time.Minute); err == nil {
		t.Error("a write did not fail")
	}
	noError(t, read.Close())
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed: %v", err)
	}

	if _, err := bolt.Inspect(path + "x"); err == nil {
		t.Error("a missing store was opened")
	}
	other, err := bolt.OpenWith(bolt.Config{Path: path}, func(*bbolt.Tx) error { return nil })
	noError(t, err)
	noError(t, other.Close())
	if _, err := bolt.Inspect(path); err == nil || !strings.Contains(err.Error(), "layout 6, this yudai reads 5") {
		t.Errorf("another layout: %v", err)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
