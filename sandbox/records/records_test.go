package records_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/sandbox/records"
)

func book(t *testing.T, dir, driver string) *records.Book {
	t.Helper()
	b, err := records.Open(dir, driver)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordsComeBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "place")
	want := records.Record{
		Name: "y-1-base", ID: "i123", Key: "k", Base: true, Labels: map[string]string{"solve": "1"},
		Created: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC), More: map[string]string{"snapshot": "s"},
	}
	for _, r := range []records.Record{{Name: "y-1-base"}, want, {Name: "a"}} {
		if err := book(t, dir, "e2b").Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "e2b", "torn.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := book(t, dir, "e2b").All()
	if diff := cmp.Diff([]records.Record{{Name: "a"}, want}, all); err != nil || diff != "" {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
	if err := os.Mkdir(filepath.Join(dir, "e2b", "unreadable.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := book(t, dir, "e2b").All(); err == nil {
		t.Errorf("a record that cannot be read counts as none: %v", all)
	}
	if all, err := book(t, dir, "prime").All(); err != nil || len(all) > 0 {
		t.Errorf("another driver's records: %v, %v", all, err)
	}
	b := book(t, dir, "e2b")
	for range 2 {
		if err := b.Delete("y-1-base"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Get("y-1-base"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed record: %v", err)
	}
}

func TestOneDeploymentForAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			if b, err := records.Open(dir, []string{"e2b", "prime"}[i%2]); err == nil {
				ids[i] = b.Deployment()
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || len(id) != 12 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
			t.Fatalf("deployments %q", ids)
		}
	}
	if book(t, t.TempDir(), "e2b").Deployment() == ids[0] {
		t.Error("two deployments have one name")
	}
	if err := os.WriteFile(filepath.Join(dir, "deployment"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := records.Open(dir, "e2b"); err == nil || !strings.Contains(err.Error(), "deployment") {
		t.Errorf("an empty name: %v", err)
	}
}
