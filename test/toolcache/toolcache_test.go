package toolcache_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/test/toolcache"
)

// cache gives the test a user's cache of its own.
func cache(t *testing.T) { t.Setenv("XDG_CACHE_HOME", t.TempDir()) }

// write is a fill that leaves one file.
func write(text string) func(string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, "tool"), []byte(text), 0o600) }
}

// want gets a directory with a file of that text, and nothing of a fill that did not end.
func want(t *testing.T, key, text string, fill func(string) error) string {
	t.Helper()
	dir, err := toolcache.Dir("tool", []byte(key), fill)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tool"))
	if err != nil || string(data) != text {
		t.Errorf("%q, %v; want %q", data, err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "half")); err == nil {
		t.Error("what an earlier fill left is there")
	}
	return dir
}

func TestOneDirectoryForEachKey(t *testing.T) {
	cache(t)
	one := want(t, "lock 1", "one", write("one"))
	two := want(t, "lock 2", "two", write("two"))
	if one == two {
		t.Error("a changed lock has the old directory")
	}
	unused := func(string) error { return errors.New("filled again") }
	if again := want(t, "lock 1", "one", unused); again != one {
		t.Errorf("%s, then %s", one, again)
	}
}

func TestFailedFillIsDoneAgain(t *testing.T) {
	cache(t)
	no := errors.New("no network")
	_, err := toolcache.Dir("tool", nil, func(dir string) error { return errors.Join(os.Mkdir(filepath.Join(dir, "half"), 0o700), no) })
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	want(t, "", "whole", write("whole"))
}

func TestManyAtOnceFillOnce(t *testing.T) {
	cache(t)
	var fills atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			want(t, "", "whole", func(dir string) error { fills.Add(1); return write("whole")(dir) })
		})
	}
	all.Wait()
	if n := fills.Load(); n != 1 {
		t.Errorf("filled %d times", n)
	}
}

// TestHelper is not a test: TestKilledFill runs it in a process of its own.
func TestHelper(t *testing.T) {
	if os.Getenv("YUDAI_TEST_FILL") == "" {
		t.Skip("only as a helper process")
	}
	_, err := toolcache.Dir("tool", nil, func(dir string) error {
		if err := os.Mkdir(filepath.Join(dir, "half"), 0o700); err != nil {
			return err
		}
		fmt.Println("filling")
		<-time.After(time.Minute) // until it is killed
		return nil
	})
	t.Fatal(err)
}

// TestKilledFill: another process's fill is waited for, and when that process is killed
// in it, done again.
func TestKilledFill(t *testing.T) {
	cache(t)
	c := exec.Command("/proc/self/exe", "-test.run=^TestHelper$")
	c.Env = append(os.Environ(), "YUDAI_TEST_FILL=1")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "filling\n" {
		t.Fatal(line, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		want(t, "", "whole", write("whole"))
	}()
	select {
	case <-done:
		t.Error("two filled at once")
	case <-time.After(100 * time.Millisecond):
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait()
	<-done
}
