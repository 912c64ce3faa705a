package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// smallDisk is a disk of that many bytes. Only root may mount one: without it the
// test runs again in a namespace where it is root, and smallDisk returns "" here.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	if os.Getuid() != 0 {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("unshare", "-rm", exe, "-test.run=^"+t.Name()+"$").CombinedOutput()
		if err != nil {
			t.Fatalf("again as root of a namespace: %v\n%s", err, out)
		}
		return ""
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size)); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	return dir
}

// ballast fills a disk up and returns what frees it.
func ballast(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskFillsAndIsFreed writes everything a store writes while its disk is
// full: each write is refused with the reason, nothing of it is kept, nothing
// that was acknowledged is lost, a heartbeat is not refused for the delivery beside it,
// and with room again all goes on.
func TestDiskFillsAndIsFreed(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 48<<20)
	if dir == "" {
		return
	}
	c := bolt.DefaultConfig()
	c.Path = filepath.Join(dir, "data", "yudai.db")
	f := newFleet(t, c, 2, 2)
	r := f.runs[0]
	steps, kept := 0, map[string]bool{}
	writes := map[string]func(tag string) error{
		"delivery": func(tag string) error {
			ok, err := f.Accept(f.ctx, solve.Delivery{GUID: tag, Payload: noise(64 << 10)}, solve.Intent{})
			kept[tag] = ok
			return err
		},
		"step": func(string) error {
			err := f.Step(f.ctx, r.Solve, r.N, r.Lease.Token, bytes.Repeat([]byte("line\n"), 10<<10), solve.Progress{Steps: steps + 1, At: f.now})
			if err == nil {
				steps++
			}
			return err
		},
		"artifact": func(tag string) error { return f.PutArtifact(f.ctx, r.Solve, "a", bytes.Repeat([]byte(tag), 20<<10)) },
		"heartbeat": func(string) error {
			f.now = f.now.Add(1)
			return f.Heartbeat(f.ctx, fleetNode, 24*60*60*1e9)
		},
	}
	all := func(tag string, check func(what string, err error)) {
		for _, what := range []string{"delivery", "step", "artifact", "heartbeat"} {
			check(what, writes[what](tag))
		}
	}
	fine := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for round := range 3 {
		for i := range 4 {
			all(fmt.Sprint("room", round, i), fine)
		}
		free := ballast(t, dir)
		refused := map[string]int{}
		for i := range 40 { // what is free inside the file may serve a few more
			all(fmt.Sprint("full", round, i), func(what string, err error) {
				if err == nil {
					return
				}
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%s on a full disk: %v", what, err)
				}
				refused[what]++
			})
		}
		for _, what := range []string{"delivery", "step", "artifact"} {
			if refused[what] == 0 {
				t.Errorf("no %s was refused", what)
			}
		}
		f.now = f.now.Add(1)
		both := f.Gathered(
			func() error { return writes["delivery"](fmt.Sprint("beside", round)) },
			func() error { return f.Heartbeat(f.ctx, fleetNode, 24*time.Hour) },
		)
		if !errors.Is(both[0], syscall.ENOSPC) || both[1] != nil {
			t.Errorf("in one batch on a full disk: delivery %v, heartbeat %v", both[0], both[1])
		}
		checkWhole(t, f.Store, r, kept, steps)
		free()
		all(fmt.Sprint("again", round), fine)
	}
	closeStore(t, f.Store)
	checkWhole(t, open(t, c), r, kept, steps)
	left, err := filepath.Glob(filepath.Join(dir, "data", "artifacts", "*", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// checkWhole looks at every page of the file and at all that was acknowledged.
func checkWhole(t *testing.T, s *bolt.Store, r solve.Run, kept map[string]bool, steps int) {
	t.Helper()
	err := s.DB().View(func(b *bbolt.Tx) error {
		for err := range b.Check() {
			t.Errorf("the file is damaged: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for guid, want := range kept {
		if _, err := s.Delivery(t.Context(), guid); want != (err == nil) {
			t.Errorf("delivery %s, acknowledged %v: %v", guid, want, err)
		}
	}
	text, err := s.Transcript(t.Context(), r.Solve, r.N)
	if err != nil || len(text) != steps*50<<10 {
		t.Errorf("the transcript has %d bytes after %d steps: %v", len(text), steps, err)
	}
	run, err := s.Run(t.Context(), r.Solve, r.N)
	if err != nil || run.Progress.Steps != steps {
		t.Errorf("the run is at step %d of %d: %v", run.Progress.Steps, steps, err)
	}
}
