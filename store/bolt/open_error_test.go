package bolt_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	bbolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// tree is what a directory holds, by path.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %s %d %x", info.ModTime(), len(data), data[:min(len(data), 64<<10)])
		}
		out[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWhatCannotBeOpenedIsNamedAndLeftAlone has everything that can stand where
// the store should: each is a message that names the file and says what to do,
// and nothing on the disk changes.
func TestWhatCannotBeOpenedIsNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, c bolt.Config)
		words []string
	}{
		"newer": {func(t *testing.T, c bolt.Config) {
			s, err := bolt.OpenWith(c, func(*bbolt.Tx) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
			write(t, filepath.Join(filepath.Dir(c.Path), ".yudai-1.tmp"), "of the newer yudai")
		}, []string{"layout 6", "up to 5", "newer yudai", "store.path"}},
		"foreign":      {func(t *testing.T, c bolt.Config) { write(t, c.Path, "damage") }, []string{"damaged", "restore a backup"}},
		"cut":          {func(t *testing.T, c bolt.Config) { cutFile(t, c, 40<<10) }, []string{"damaged", "restore a backup"}},
		"cut a little": {func(t *testing.T, c bolt.Config) { cutFile(t, c, -1) }, []string{"damaged", "restore a backup"}},
		"emptied":      {func(t *testing.T, c bolt.Config) { cutFile(t, c, 0) }, []string{"empty", "restore a backup"}},
		"directory":    {func(t *testing.T, c bolt.Config) { mkdir(t, c.Path) }, []string{"it is a directory"}},
		"pipe": {func(t *testing.T, c bolt.Config) {
			if err := unix.Mkfifo(c.Path, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"not a file"}},
		"file for a directory": {func(t *testing.T, c bolt.Config) {
			if err := os.Remove(filepath.Dir(c.Path)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Dir(c.Path), "text")
		}, []string{"not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			mkdir(t, filepath.Dir(cfg.Path))
			c.spoil(t, cfg)
			before := tree(t, filepath.Dir(filepath.Dir(cfg.Path)))
			s, err := bolt.Open(cfg)
			if s != nil {
				closeStore(t, s)
			}
			mustFail(t, err, append(c.words, cfg.Path)...)
			if diff := cmp.Diff(before, tree(t, filepath.Dir(filepath.Dir(cfg.Path)))); diff != "" {
				t.Errorf("the disk changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestFirstStartAfterACrash has the empty file that a crash leaves before the first commit.
func TestFirstStartAfterACrash(t *testing.T) {
	t.Parallel()
	c := config(t)
	mkdir(t, filepath.Dir(c.Path))
	write(t, c.Path, "")
	queued(t, open(t, c), "a")
}

// TestTheOtherProcessIsNamed finds the holder of the lock.
func TestTheOtherProcessIsNamed(t *testing.T) {
	t.Parallel()
	c := config(t)
	open(t, c)
	_, err := bolt.Open(c)
	mustFail(t, err, "another yudai uses", c.Path, "process "+strconv.Itoa(os.Getpid()))
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cutFile makes a store that was used and cuts its file.
func cutFile(t *testing.T, c bolt.Config, size int64) {
	t.Helper()
	s := open(t, c)
	for i := range 50 {
		id := queued(t, s, solve.ID(fmt.Sprint("s", i))).ID
		closeIssue(t, s, id)
		if err := s.PutArtifact(t.Context(), id, "a", bytes.Repeat([]byte("a"), 100)); err != nil {
			t.Fatal(err)
		}
	}
	if size < 0 { // behind all that Open looks at
		err := s.DB().View(func(b *bbolt.Tx) error { size = b.Size() - 4096; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	if err := os.Truncate(c.Path, size); err != nil {
		t.Fatal(err)
	}
}
