package machine_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/test/machine"
)

// start starts a machine that the test closes.
func start(t *testing.T, change ...func(*machine.Options)) *machine.Machine {
	t.Helper()
	requireMachines(t)
	o := machine.Options{Dir: filepath.Join(t.TempDir(), "machine")}
	for _, c := range change {
		c(&o)
	}
	m, err := machine.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// run runs a shell text and returns what it printed.
func run(t *testing.T, m *machine.Machine, user, text string) string {
	t.Helper()
	c := m.Command(t.Context(), user, []string{"PATH=" + machine.Path, "LC_ALL=C"}, "/tmp", "bash", "-c", text)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", text, err, out)
	}
	return strings.TrimSpace(string(out))
}

// await asks until the answer is as wanted.
func await(t *testing.T, what string, good func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !good(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestUsersAndTools(t *testing.T) {
	t.Parallel()
	m := start(t)
	if got := run(t, m, machine.User, `id -u; id -g; pwd; echo "${HOME-none}"; git --version >/dev/null && python3 -c 'print("python")'`); got != "1000\n1000\n/tmp\nnone\npython" {
		t.Errorf("user: %q", got)
	}
	if got := run(t, m, machine.Root, `id -u; id -un 1000; mkdir -p /workspace/a && chown user /workspace/a && stat -c %U /workspace/a; cat /etc/hostname; hostname`); got != "0\nuser\nuser\nmachine\nmachine" {
		t.Errorf("root: %q", got)
	}
	if got := run(t, m, machine.User, `touch /usr/x /etc/x /x /root/x 2>/dev/null || true; touch /home/user/x && ls /usr/x /etc/x /x /root/x 2>/dev/null; echo end`); got != "end" {
		t.Errorf("the user wrote %q", got)
	}
}

func TestMachinesAreApart(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	run(t, a, machine.User, `echo secret >/tmp/mine; (setsid sleep 1234 >/dev/null 2>&1 &)`)
	if got := run(t, b, machine.Root, `ls /tmp; pgrep -x sleep; ls -A /home/user`); got != "" {
		t.Errorf("the other machine sees %q", got)
	}
	if got := run(t, a, machine.User, `grep -c . /proc/net/dev`); got != "3" {
		t.Errorf("network interfaces: %q, want two lines of heading and the loopback", got)
	}
}

// TestRootStaysInside: root of a machine changes nothing of the kernel or the host.
func TestRootStaysInside(t *testing.T) {
	t.Parallel()
	m := start(t)
	got := run(t, m, machine.Root, `mount -t tmpfs none /mnt 2>/dev/null && echo mounted
mknod /tmp/disk b 254 0 2>/dev/null && echo device
for f in /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sysrq-trigger; do { : >>$f; } 2>/dev/null && echo "opened $f"; done
head -c1 /proc/kcore 2>/dev/null | wc -c
date -s "$(date)" >/dev/null 2>&1 && echo clock
hostname other 2>/dev/null && echo named
touch /usr/bin/x /usr/local/x 2>/dev/null && echo usr
unshare -m true 2>/dev/null && echo unshared
kill -9 1 && echo "first process lives"; (setsid sleep 300 >/dev/null 2>&1 &); kill -9 -1`)
	if got != "0\nfirst process lives" {
		t.Errorf("allowed: %q", got)
	}
	if got := run(t, m, machine.Root, "echo alive"); got != "alive" {
		t.Errorf("after the kill of all: %q", got)
	}
}

func TestBackgroundOutlivesCommand(t *testing.T) {
	t.Parallel()
	m := start(t)
	run(t, m, machine.User, `for i in 1 2 3; do (setsid sleep 300 >/dev/null 2>&1 &); done`)
	if got := run(t, m, machine.User, `pgrep -c sleep`); got != "3" {
		t.Errorf("%s of 3 processes live", got)
	}
	// Orphans that end are reaped.
	run(t, m, machine.Root, `pkill sleep`)
	await(t, "no dead process is left", func() bool {
		return run(t, m, machine.Root, `ps -eo stat,comm 2>/dev/null | grep -c '^Z' || true`) == "0"
	})
}

func TestSpawnTellsAndSignals(t *testing.T) {
	t.Parallel()
	m := start(t)
	said, out := io.Pipe()
	in, feed := io.Pipe()
	c, p, err := m.Spawn(t.Context(), machine.Job{
		User: machine.User, Env: []string{"PATH=" + machine.Path, "X=y z"}, Dir: "/home/user", Stdin: in, Stdout: out,
		Argv: []string{"/bin/bash", "-c", `trap 'echo term; exit 4' TERM; read -r line; echo "$$ $X $line $PWD"; while :; do sleep 0.05; done`},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if _, err := io.WriteString(feed, "hello\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	if got, want := must(lines.ReadString('\n')), itoa(p.PID)+" y z hello /home/user\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := must(lines.ReadString('\n')); got != "term\n" {
		t.Errorf("%q", got)
	}
	_ = feed.Close()
	if _ = c.Wait(); c.ProcessState.ExitCode() != 4 {
		t.Error(c.ProcessState)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a process that has ended took a signal: %v", err)
	}
}

// must returns the value; an error is part of what is compared.
func must(value string, err error) string {
	if err != nil {
		return value + err.Error()
	}
	return value
}

// TestContextKillsTheCommand: the end of the context kills the command inside, and
// only it.
func TestContextKillsTheCommand(t *testing.T) {
	t.Parallel()
	m := start(t)
	ctx, cancel := contextOf(t)
	c := m.Command(ctx, machine.User, []string{"PATH=" + machine.Path}, "/", "bash", "-c", "sleep 301 & exec sleep 300")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the sleeps run", func() bool { return run(t, m, machine.User, "pgrep -c sleep || true") == "2" })
	cancel()
	if err := c.Wait(); err == nil || c.ProcessState.Success() {
		t.Errorf("the command ended well: %v", c.ProcessState)
	}
	if got := run(t, m, machine.User, "pgrep -x sleep -a | cut -d' ' -f2-"); got != "sleep 301" {
		t.Errorf("left: %q", got)
	}
}

func TestCopyIsIndependent(t *testing.T) {
	t.Parallel()
	a := start(t)
	run(t, a, machine.User, `echo one >/home/user/f; ln -s f /home/user/l; chmod 750 /home/user/f`)
	b, err := a.Copy(machine.Options{Dir: filepath.Join(t.TempDir(), "copy")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	run(t, a, machine.User, `echo two >/home/user/f`)
	if got := run(t, b, machine.User, `cat /home/user/l; stat -c %U:%a /home/user/f; echo three >/home/user/f`); got != "one\nuser:750" {
		t.Errorf("copy: %q", got)
	}
	if got := run(t, a, machine.User, `cat /home/user/f`); got != "two" {
		t.Errorf("original: %q", got)
	}
}

func TestStopKeepsFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "m")
	m := start(t, func(o *machine.Options) { o.Dir = dir })
	run(t, m, machine.User, `echo kept >/home/user/f; (setsid sleep 300 >/dev/null 2>&1 &)`)
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open("/home/user/f"); err == nil {
		t.Error("a stopped machine opens files")
	}
	if err := m.Command(t.Context(), machine.User, nil, "/", "true").Run(); !errors.Is(err, machine.ErrStopped) {
		t.Errorf("a command of a stopped machine: %v", err)
	}
	again := start(t, func(o *machine.Options) { o.Dir = dir })
	if got := run(t, again, machine.User, `cat /home/user/f; pgrep -c sleep || true`); got != "kept\n0" {
		t.Errorf("after the restart: %q", got)
	}
}

// TestCloseLeavesNothing: no process, no mount, no file.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "m")
	m := start(t, func(o *machine.Options) { o.Dir = dir })
	mark := "314159" + itoa(os.Getpid())
	run(t, m, machine.User, "(setsid sleep "+mark+" >/dev/null 2>&1 &)")
	await(t, "the process is seen on the host", func() bool {
		out, _ := exec.Command("pgrep", "-f", "^sleep "+mark).Output()
		return len(out) > 0
	})
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if out, _ := exec.Command("pgrep", "-f", "^sleep "+mark).Output(); len(out) != 0 {
		t.Errorf("process %s lives", out)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left (%v)", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
}

func TestHiddenProgram(t *testing.T) {
	t.Parallel()
	m := start(t, func(o *machine.Options) { o.Hide = []string{"git"} })
	if got := run(t, m, machine.User, `git --version; echo $?; ls /usr/bin/env; python3 -c 'print(1)'; sed --version | head -1 | cut -c1-3`); !strings.HasSuffix(got, "127\n/usr/bin/env\n1\nsed") {
		t.Errorf("%q", got)
	}
}

func TestBoundedDisk(t *testing.T) {
	t.Parallel()
	m := start(t, func(o *machine.Options) { o.DiskBytes = 8 << 20 })
	got := run(t, m, machine.User, `id -un; head -c 20000000 /dev/zero >/home/user/big || echo full; rm /home/user/big; echo small >/home/user/f; cat /home/user/f; stat -c %a /tmp`)
	if !strings.Contains(got, "No space left on device") || !strings.HasSuffix(got, "full\nsmall\n1777") || !strings.HasPrefix(got, "user\n") {
		t.Errorf("%q", got)
	}
	b, err := m.Copy(machine.Options{Dir: filepath.Join(t.TempDir(), "copy")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := run(t, b, machine.User, `cat /home/user/f; ls /usr/bin/env`); got != "small\n/usr/bin/env" {
		t.Errorf("copy: %q", got)
	}
}
