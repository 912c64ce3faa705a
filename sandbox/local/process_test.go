package local_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/test/require"

	"github.com/rs/zerolog"
)

// TestOwnerHelper is not a test: TestDeadOwner runs it in a process of its own
// and kills that.
func TestOwnerHelper(t *testing.T) {
	dir := os.Getenv("YUDAI_TEST_OWNER_DIR")
	if dir == "" {
		t.Skip("only as a helper process")
	}
	c := config(t)
	c.Dir = dir
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "orphan", Labels: map[string]string{"run": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sb.Exec(t.Context(), sandbox.Command{
		Shell:  `echo done >finished; trap '' TERM; setsid bash -c 'while :; do echo x >>/tmp/beat; sleep 0.02; done' & until [ -s /tmp/beat ]; do sleep 0.02; done; echo READY; sleep 300`,
		Stdout: os.Stdout,
	})
	t.Fatal(err)
}

// TestDeadOwner kills an owner with SIGKILL while a command runs. The next owner finds the
// files, no process, the labels, and what the dead one left half made goes with Sweep.
func TestDeadOwner(t *testing.T) {
	t.Parallel()
	setup(t)
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestOwnerHelper$", "-test.v")
	cmd.Env = append(os.Environ(), "YUDAI_TEST_OWNER_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "READY") {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	half := filepath.Join(dir, "making", fmt.Sprintf("%d-1-half", cmd.Process.Pid))
	if err := os.MkdirAll(filepath.Join(half, "data"), 0o755); err != nil {
		t.Fatal(err)
	}

	d := setup(t, func(c *local.Config) { c.Dir = dir })
	sb, err := d.Attach(t.Context(), "orphan")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/proc/[0-9]*/cmdline"} {
		found, _ := filepath.Glob(p)
		for _, f := range found {
			if line, _ := os.ReadFile(f); strings.HasPrefix(string(line), "setsid\x00bash\x00") {
				t.Errorf("a process of the dead owner runs: %q", line)
			}
		}
	}
	text, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{
		Shell: "cat finished; a=$(wc -l </tmp/beat); sleep 0.2; [ $a = $(wc -l </tmp/beat) ] && echo still",
	})
	if err != nil || res.ExitCode != 0 || text != "done\nstill\n" {
		t.Errorf("after the crash: %q, %+v, %v", text, res, err)
	}
	var seen []sandbox.Info
	if _, err := d.Sweep(t.Context(), func(i sandbox.Info) bool { seen = append(seen, i); return true }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0].Labels["run"] != "7" || time.Since(seen[0].Created) > time.Hour {
		t.Errorf("sweep saw %+v", seen)
	}
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("the half made directory is there: %v", err)
	}
	if gone, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil || len(gone) != 1 {
		t.Errorf("swept %q, %v", gone, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 {
		t.Errorf("left on disk: %q", left)
	}
}

// TestHelperDies ends the helper under a running command: the command dies, the
// error says so, and the next command works on the same files.
func TestHelperDies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := setup(t, func(c *local.Config) { c.Dir = dir })
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "victim"})
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := sb.Exec(context.Background(), sandbox.Command{Shell: "echo x >f; echo up; sleep 300", Stdout: w})
		ended <- err
	}()
	if _, err := r.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	killHelper(t, "victim")
	if err := <-ended; err == nil {
		t.Error("a command that lost its helper is no error")
	}
	out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "cat f"})
	if err != nil || out != "x\n" {
		t.Errorf("after the helper died: %q, %v", out, err)
	}
}

// killHelper kills the helper process of a sandbox of this test process.
func killHelper(t *testing.T, name string) {
	t.Helper()
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range found {
		line, _ := os.ReadFile(f)
		if !strings.HasPrefix(string(line), "__yudai-sandbox-helper\x00") || !strings.Contains(string(line), ":"+name+":") {
			continue
		}
		var pid, parent int
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "stat"))
		_, _ = fmt.Sscanf(filepath.Base(filepath.Dir(f)), "%d", &pid)
		_, _ = fmt.Sscanf(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " %s %d", new(string), &parent)
		if parent == os.Getpid() {
			p, err := os.FindProcess(pid)
			if err != nil {
				t.Fatal(err)
			}
			_ = p.Kill()
			return
		}
	}
	t.Fatal("no helper found")
}

// TestNothingOutlivesItsHelper kills helpers with SIGKILL, as the kernel may for want of
// memory: whatever was started, and however busy the machine, nothing inside goes on.
func TestNothingOutlivesItsHelper(t *testing.T) {
	t.Parallel()
	require.Long(t) // it shows what happens once in a hundred times
	dir := t.TempDir()
	d := setup(t, func(c *local.Config) { c.Dir = dir })
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for j := range 25 {
				name := fmt.Sprintf("one-%d-%d", i, j)
				if _, err := d.Open(t.Context(), sandbox.Spec{Name: name}); err != nil {
					t.Fatal(err)
				}
				killHelper(t, name)
				await(t, "no process runs", func() bool { return len(running(dir, name)) == 0 })
			}
		})
	}
}

// TestCommandIsNoArgument: while a command runs, no process of the machine shows its text in its arguments.
func TestCommandIsNoArgument(t *testing.T) {
	t.Parallel()
	d := setup(t)
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "arguments"})
	if err != nil {
		t.Fatal(err)
	}
	mark := "private-" + rand.Text()
	said, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo runs; until [ -e /tmp/end ]; do sleep 0.05; done; : " + mark, Stdout: out})
		_ = out.Close()
		done <- err
	}()
	if _, err := io.ReadFull(said, make([]byte, len("runs\n"))); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range found {
		if line, _ := os.ReadFile(f); strings.Contains(string(line), mark) {
			t.Errorf("%s: %q", f, line)
		}
	}
	if err := sb.Put(t.Context(), "/tmp/end", strings.NewReader(""), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
