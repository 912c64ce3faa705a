package unixsock_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/unixsock"
)

// The directory is deeper than the path of a socket may be, and a dead owner's socket is in it.
func TestListen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := unixsock.Listen(dir)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]fs.FileMode{dir: 0o755 | fs.ModeDir, filepath.Join(dir, unixsock.Name): 0o666 | fs.ModeSocket} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
		link := filepath.Join(t.TempDir(), "s")
		if err := os.Symlink(filepath.Join(dir, unixsock.Name), link); err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				c.Close()
			}
		}()
		c, err := net.Dial("unix", link)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
}

func TestListenWithoutDirectory(t *testing.T) {
	t.Parallel()
	if _, err := unixsock.Listen(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error")
	}
}
