package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yudai-dev/yudai/internal/durable"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := durable.MakeDirs(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file")
	for _, text := range []string{"old", "new"} {
		if err := durable.WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if data, _ := os.ReadFile(path); err != nil || string(data) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("%q, %v, %v", data, info, err)
		}
	}
	full := errors.New("no room")
	err := durable.Write(path, func(f *os.File) error {
		_, _ = f.WriteString("half")
		return full
	})
	if data, _ := os.ReadFile(path); !errors.Is(err, full) || string(data) != "new" {
		t.Errorf("after a failed write: %q, %v", data, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".yudai-12.tmp", "kept"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := durable.Clean(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "kept" {
		t.Errorf("left: %v", left)
	}
}
