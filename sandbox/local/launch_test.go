package local_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

// heart beats into a file, from a child that left its session and has no environment.
const heart = `echo $RANDOM$RANDOM >/tmp/id; setsid env -i bash -c 'while :; do echo x >>/tmp/beat; sleep 0.02; done' & wait`

// TestLaunchOwner is not a test: others run it in a process of its own and kill that.
func TestLaunchOwner(t *testing.T) {
	dir, program := os.Getenv("YUDAI_TEST_LAUNCH_DIR"), os.Getenv("YUDAI_TEST_LAUNCH_PROGRAM")
	if dir == "" {
		t.Skip("only as a helper process")
	}
	c := config(t)
	c.Dir = dir
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "resident", Launch: true, Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	if program != "" {
		if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: program}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = sb.Exec(t.Context(), sandbox.Command{
		Shell:  `setsid bash -c 'while :; do echo x >>/tmp/other; sleep 0.02; done' & until [ -s /tmp/other ]; do sleep 0.02; done; echo READY; sleep 300`,
		Stdout: os.Stdout,
	})
	t.Fatal(err)
}

// killedOwner runs TestLaunchOwner until a command runs beside the program, and kills it
// with SIGKILL.
func killedOwner(t *testing.T, dir, program string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestLaunchOwner$", "-test.v")
	cmd.Env = append(os.Environ(), "YUDAI_TEST_LAUNCH_DIR="+dir, "YUDAI_TEST_LAUNCH_PROGRAM="+program)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for lines := bufio.NewScanner(out); !ready && lines.Scan(); {
		ready = strings.Contains(lines.Text(), "READY")
	}
	if err := cmd.Process.Kill(); err != nil || !ready {
		t.Fatalf("ready %v, %v", ready, err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
}

// running lists the processes of a sandbox, by what the driver marks them with.
func running(dir, name string) []string {
	sum := sha256.Sum256([]byte(dir))
	marker := "yudai-sandbox:" + hex.EncodeToString(sum[:6]) + ":" + name + ":"
	var out []string
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range found {
		line, _ := os.ReadFile(f)
		if strings.Contains(string(line), marker) {
			out = append(out, filepath.Base(filepath.Dir(f)))
		}
	}
	return out
}

// await polls a condition.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited too long: %s", what)
		}
	}
}

// size is how long a file of a sandbox is, on the host.
func size(dir, name, file string) int64 {
	st, err := os.Stat(filepath.Join(dir, "sandboxes", name, "data", file))
	if err != nil {
		return 0
	}
	return st.Size()
}

// grows waits until a file of a sandbox has grown, without asking the driver.
func grows(t *testing.T, dir, name, file string) {
	t.Helper()
	before := size(dir, name, file)
	await(t, file+" grows", func() bool { return size(dir, name, file) > before })
}

// rests returns an error if a file of a sandbox grows.
func rests(t *testing.T, dir, name, file string) {
	t.Helper()
	before := size(dir, name, file)
	tick := time.NewTimer(200 * time.Millisecond)
	<-tick.C
	if now := size(dir, name, file); now != before {
		t.Errorf("%s grows: %d, %d", file, before, now)
	}
}

// attach returns the sandbox and its ability to launch.
func attach(t *testing.T, d *local.Driver, name string) (sandbox.Sandbox, sandbox.Launcher) {
	t.Helper()
	sb, err := d.Attach(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return sb, sb.(sandbox.Launcher)
}

// launched compares what Launched says.
func launched(t *testing.T, l sandbox.Launcher, want bool) {
	t.Helper()
	if got, err := l.Launched(t.Context()); got != want || err != nil {
		t.Errorf("launched: %v, %v; want %v", got, err, want)
	}
}

// TestLaunchOutlivesItsOwner kills an owner with SIGKILL. The program lives on, within its
// limits; the command beside it does not; the next owner finds the one and not the other.
func TestLaunchOutlivesItsOwner(t *testing.T) {
	t.Parallel()
	setup(t)
	dir := t.TempDir()
	killedOwner(t, dir, heart)
	grows(t, dir, "resident", "tmp/beat")
	await(t, "the helper, bubblewrap, the first process inside and its forwarder", func() bool { return len(running(dir, "resident")) == 4 })
	await(t, "the command of the dead owner ends", func() bool {
		before := size(dir, "resident", "tmp/other")
		<-time.After(200 * time.Millisecond)
		return size(dir, "resident", "tmp/other") == before
	})

	d := setup(t, func(c *local.Config) { c.Dir = dir })
	before, err := os.ReadFile(filepath.Join(dir, "sandboxes/resident/data/tmp/id"))
	if err != nil {
		t.Fatal(err)
	}
	sb, l := attach(t, d, "resident")
	launched(t, l, true)
	grows(t, dir, "resident", "tmp/beat")
	rests(t, dir, "resident", "tmp/other")
	out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: `cat /tmp/id; p=${HTTP_PROXY#http://}; exec 3<>/dev/tcp/${p%:*}/${p#*:}
printf 'CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n' >&3; head -1 <&3`})
	if err != nil || !strings.HasPrefix(out, string(before)+"HTTP/1.1 403 ") {
		t.Errorf("after attach: %q, %v; want the same program and the new owner's proxy", out, err)
	}
	if d.Traits().MemoryLimit {
		inGroup(t, sb, dir)
	}
	if err := l.Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	rests(t, dir, "resident", "tmp/beat")
	if err := l.Launch(t.Context(), sandbox.Command{Shell: heart}); err != nil {
		t.Fatal(err)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left := running(dir, "resident"); len(left) > 0 {
		t.Errorf("after Close %d processes run", len(left))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 {
		t.Errorf("left on disk: %q", left)
	}
}

// inGroup checks that the program of the old owner and a command of the new one are in
// one control group, whose limits are those of the sandbox.
func inGroup(t *testing.T, sb sandbox.Sandbox, dir string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	up, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = sb.Exec(ctx, sandbox.Command{Shell: "echo up; sleep 301", Stdout: &once{seen: up}})
	}()
	<-up
	namespaces := map[string]bool{}
	for _, pid := range running(dir, "resident") {
		if status, _ := os.ReadFile("/proc/" + pid + "/status"); strings.Contains(string(status), "\nNSpid:\t"+pid+"\t1\n") {
			name, _ := os.Readlink("/proc/" + pid + "/ns/pid")
			namespaces[name] = true
		}
	}
	groups, found := map[string]bool{}, map[string]bool{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		if name, _ := os.Readlink(p + "/ns/pid"); !namespaces[name] {
			continue
		}
		line, _ := os.ReadFile(p + "/cmdline")
		if len(line) == 0 {
			continue // it has ended
		}
		found[strings.ReplaceAll(string(line), "\x00", " ")] = true
		text, _ := os.ReadFile(p + "/cgroup")
		group := ""
		for _, l := range strings.Split(string(text), "\n") {
			if i := strings.Index(l, "/yudai-"); i >= 0 {
				group = l[i:]
			}
		}
		groups[group] = true
	}
	if len(namespaces) != 1 || len(groups) != 1 || !found["sleep 301 "] || !found["sleep 0.02 "] && !found["bash -c while :; do echo x >>/tmp/beat; sleep 0.02; done "] {
		t.Errorf("in %d namespaces %v are in the control groups %v", len(namespaces), found, groups)
	}
	cancel()
	<-ended
}

// TestLaunchHelperEndsByItself: a helper that nobody needs does not stay.
func TestLaunchHelperEndsByItself(t *testing.T) {
	t.Parallel()
	setup(t)
	for name, program := range map[string]string{"nothing launched": "", "it ended later": "sleep 1", "it left a child": "setsid sleep 2 & exit 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killedOwner(t, dir, program)
			await(t, "no process runs", func() bool { return len(running(dir, "resident")) == 0 })
			sb, l := attach(t, setup(t, func(c *local.Config) { c.Dir = dir }), "resident")
			launched(t, l, false)
			if out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "head -1 /tmp/other"}); out != "x\n" || err != nil {
				t.Errorf("its files: %q, %v", out, err)
			}
		})
	}
}

// TestLaunchHelperWithoutSandbox: a helper ends when its sandbox was removed behind its back.
func TestLaunchHelperWithoutSandbox(t *testing.T) {
	t.Parallel()
	setup(t)
	dir := t.TempDir()
	killedOwner(t, dir, heart)
	if err := os.Remove(filepath.Join(dir, "sandboxes/resident/record.json")); err != nil {
		t.Fatal(err)
	}
	await(t, "no process runs", func() bool { return len(running(dir, "resident")) == 0 })
	_ = setup(t, func(c *local.Config) { c.Dir = dir }) // sweeps the rest
}

// TestLaunchHelperDies kills the helper under its owner: the program dies with it, and the
// sandbox goes on.
func TestLaunchHelperDies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sb, err := second(t, dir).Open(t.Context(), sandbox.Spec{Name: "launch-victim", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	l := sb.(sandbox.Launcher)
	if err := l.Launch(t.Context(), sandbox.Command{Shell: heart}); err != nil {
		t.Fatal(err)
	}
	grows(t, dir, "launch-victim", "tmp/beat")
	killHelper(t, "launch-victim")
	await(t, "the program ends", func() bool { runs, err := l.Launched(t.Context()); return err == nil && !runs })
	rests(t, dir, "launch-victim", "tmp/beat")
	if err := l.Launch(t.Context(), sandbox.Command{Shell: heart}); err != nil {
		t.Error(err)
	}
	grows(t, dir, "launch-victim", "tmp/beat")
}

// TestLaunchDiskLimit: the disk of a sandbox is limited for a program as for a command,
// whoever looks.
func TestLaunchDiskLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sb, err := second(t, dir).Open(t.Context(), sandbox.Spec{Name: "resident", Launch: true, Limits: sandbox.Limits{Disk: 8 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	l := sb.(sandbox.Launcher)
	if err := l.Launch(t.Context(), sandbox.Command{Shell: "for i in $(seq 100); do head -c 1000000 /dev/zero >/tmp/f-$i; sleep 0.05; done; sleep 60"}); err != nil {
		t.Fatal(err)
	}
	var last error
	await(t, "the limit is noticed", func() bool {
		var runs bool
		runs, last = l.Launched(t.Context())
		return !runs
	})
	if !errors.Is(last, sandbox.ErrDisk) {
		t.Errorf("launched: %v, want ErrDisk", last)
	}
	if err := l.Halt(t.Context()); err != nil {
		t.Errorf("halt: %v", err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrDisk) {
		t.Errorf("exec: %v, want ErrDisk", err)
	}
}

// TestLaunchKnowsNoDescriptorOfOurs: a launched program has its three streams and nothing
// that its supervisor was given.
func TestLaunchKnowsNoDescriptorOfOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sb, err := second(t, dir).Open(t.Context(), sandbox.Spec{Name: "resident", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	look := "for n in 3 4 5 6 7; do [ -e /proc/self/fd/$n ] && seen=\"$seen $n\"; done; echo seen$seen >/tmp/seen; mv /tmp/seen /tmp/all"
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: look}); err != nil {
		t.Fatal(err)
	}
	await(t, "it has looked", func() bool { return size(dir, "resident", "tmp/all") > 0 })
	if out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "cat /tmp/all"}); out != "seen\n" || err != nil {
		t.Errorf("descriptors: %q, %v", out, err)
	}
}

// TestLaunchFreeze: what was launched is no part of a base.
func TestLaunchFreeze(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := second(t, dir)
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "resident", Launch: true, Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: heart}); err != nil {
		t.Fatal(err)
	}
	grows(t, dir, "resident", "tmp/beat")
	base, err := d.Freeze(t.Context(), sb)
	if err != nil {
		t.Fatal(err)
	}
	if left := running(dir, "resident"); len(left) > 0 {
		t.Errorf("after Freeze %d processes run", len(left))
	}
	list, err := os.ReadDir(filepath.Join(dir, "bases", base))
	if err != nil || len(list) != 3 { // record.json, data, work
		t.Errorf("in the base: %v, %v", list, err)
	}
	fork, err := d.Open(t.Context(), sandbox.Spec{Name: "fork", From: base})
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := fork.(sandbox.Launcher).Launched(t.Context()); runs || err != nil {
		t.Errorf("launched in a fork: %v, %v", runs, err)
	}
}
