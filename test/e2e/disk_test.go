package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// smallDisk mounts a disk of that many bytes at the directory. It takes root;
// without it the test fails where root is promised, and is not run elsewhere.
func smallDisk(t *testing.T, dir string, size int) {
	t.Helper()
	if os.Getuid() != 0 {
		require.Need(t, "root", errors.New("only root may mount a small disk"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size)); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
}

// fill fills the disk up and returns what frees it.
func (w *world) fill(dir string) (free func()) {
	w.t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	w.must(err)
	for _, piece := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			w.t.Fatal(err)
		}
	}
	w.must(f.Close())
	return func() { w.must(os.Remove(path)) }
}

// TestFullDiskOfTheStore fills the disk of the store while a run works. GitHub's
// deliveries are answered 503, so that GitHub's log shows them as failed; the
// process goes on, and does not fill its log. With room again what was accepted is
// finished, and what is delivered again is accepted.
func TestFullDiskOfTheStore(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	disk := filepath.Join(w.dir, "store")
	smallDisk(t, disk, 48<<20)
	p := w.startProcess()
	defer func() {
		if t.Failed() {
			t.Log(p.log.String())
		}
	}()
	w.openIssue(a)
	w.trigger(s)
	w.awaitTranscript(4, 30*time.Second)
	free := w.fill(disk)
	lines := strings.Count(p.log.String(), "\n")
	refused := 0
	for i := range 60 { // what is free inside the file may serve a few
		_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, fmt.Sprintf("/yudai help %d %s", i, strings.Repeat("x", 10_000)))
		w.must(err)
	}
	w.poll(30*time.Second, func() bool {
		refused = 0
		for _, d := range w.hub.Deliveries(w.app) {
			if d.Status == http.StatusServiceUnavailable {
				refused++
			}
		}
		return refused > 10
	})
	wait := time.NewTimer(3 * w.cfg.Solver.LeaseTime) // longer than a lease that could not be renewed
	<-wait.C
	if p.cmd.ProcessState != nil || syscall.Kill(p.cmd.Process.Pid, 0) != nil {
		t.Fatalf("the process ended:\n%s", p.log.String())
	}
	if n := strings.Count(p.log.String(), "\n") - lines; n > 400 {
		t.Errorf("%d lines in the log while the disk was full", n)
	}
	free()
	w.awaitComments([]string{"kind=result"})
	for _, d := range w.hub.Deliveries(w.app) { // as a person does, or yudai's own look at the log
		if d.Status == http.StatusServiceUnavailable {
			w.must(w.hub.Redeliver(w.app, d.ID))
			break
		}
	}
	w.poll(30*time.Second, func() bool {
		for _, d := range w.hub.Deliveries(w.app) {
			if d.Redelivery && d.Status == http.StatusOK {
				return true
			}
		}
		return false
	})
	w.poll(30*time.Second, func() bool { return len(w.pulls()) == 1 })
	p.kill()
	srv, _ := w.serve()
	v := w.final(srv, time.Minute)
	if v.Solve.State != solve.StateSolved || v.Runs[0].Attempt != 1 {
		t.Errorf("the solve is %s, attempt %d: %s", v.Solve.State, v.Runs[0].Attempt, v.Solve.Reason)
	}
}

// TestFullDiskOfTheSandboxes fills the disk of the sandboxes before a solve
// begins: it ends with its reason and leaves nothing half made, and with room
// again the next one is solved.
func TestFullDiskOfTheSandboxes(t *testing.T) {
	t.Parallel()
	require.Long(t)
	requireSandbox(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	smallDisk(t, w.cfg.Sandbox.Local.Dir, 32<<20)
	w.cfg.Sandbox.Local.FreeDiskMiB = 1
	srv, _ := w.serve()
	free := w.fill(w.cfg.Sandbox.Local.Dir)
	w.openIssue(a)
	w.trigger(s)
	v := w.final(srv, 2*time.Minute)
	if v.Solve.State != solve.StateFailed || !strings.Contains(v.Solve.Reason, "no space left") || len(w.pulls()) != 0 {
		t.Errorf("the solve is %s with %d pull requests: %q", v.Solve.State, len(w.pulls()), v.Solve.Reason)
	}
	w.poll(20*time.Second, func() bool { return len(w.leftovers()) == 0 })
	free()
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai solve models=slow")
	w.must(err)
	first := v.Solve.ID
	v = w.until(srv, 2*time.Minute, func(v report.View) bool { return v.Solve.ID != first && v.Solve.State.Final() })
	if v.Solve.State != solve.StateSolved {
		t.Errorf("with room the solve is %s: %s", v.Solve.State, v.Solve.Reason)
	}
}

// TestFullDiskOfTheMirrors fills the disk of the git mirrors before a solve
// begins: it waits, and is solved with room.
func TestFullDiskOfTheMirrors(t *testing.T) {
	t.Parallel()
	require.Long(t)
	requireSandbox(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	disk := filepath.Join(w.dir, "store", "git")
	smallDisk(t, disk, 32<<20)
	srv, _ := w.serve()
	free := w.fill(disk)
	w.openIssue(a)
	w.trigger(s)
	w.poll(time.Minute, func() bool { return w.hub.Requests("POST", "/access_tokens") > 4 }) // a clone token for each try
	free()
	if v := w.final(srv, 2*time.Minute); v.Solve.State != solve.StateSolved {
		t.Errorf("with room the solve is %s: %s", v.Solve.State, v.Solve.Reason)
	}
}
