package solve_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func updating(t *testing.T) bool {
	t.Helper()
	return flag.Lookup("update").Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files and docs/lifecycle.md")
	flag.Parse()
	os.Exit(m.Run())
}

// golden compares a text with the file, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if updating(t) {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run go test ./solve -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (run go test ./solve -update and look at the change) (-want +got):\n%s", file, diff)
	}
}
