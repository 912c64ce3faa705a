package local_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

// TestProbe is not a test: it is what the canary runs inside a sandbox, with
// this test binary. It prints every wall that did not hold.
func TestProbe(t *testing.T) {
	args := os.Getenv("YUDAI_TEST_PROBE")
	if args == "" {
		t.Skip("only inside a sandbox")
	}
	for _, target := range strings.Split(args, ",") {
		network, address, _ := strings.Cut(target, "=")
		if c, err := net.Dial(network, address); err == nil {
			_ = c.Close()
			fmt.Println("BROKEN: reached", target)
		}
	}
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.Close(fd)
		fmt.Println("BROKEN: AF_VSOCK")
	}
	if fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); err == nil {
		_ = unix.Close(fd)
		fmt.Println("BROKEN: AF_PACKET")
	}
	calls := map[string]func() error{
		"ptrace":    func() error { return unix.PtraceSeize(os.Getppid()) },
		"unshare":   func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"bpf":       func() error { return call(unix.SYS_BPF) },
		"keyctl":    func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err },
		"userfault": func() error { return call(unix.SYS_USERFAULTFD) },
		"mount":     func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
		"io_uring":  func() error { return call(unix.SYS_IO_URING_SETUP) },
		"perf":      func() error { return call(unix.SYS_PERF_EVENT_OPEN) },
	}
	for name, try := range calls {
		if err := try(); err != unix.EPERM { //nolint:errorlint // a bare number of the kernel's
			fmt.Println("BROKEN:", name, "answers", err)
		}
	}
	printRefused()
	if err := call(unix.SYS_CLONE3); err != unix.ENOSYS { //nolint:errorlint // as above
		fmt.Println("BROKEN: clone3 answers", err)
	}
	fmt.Println("PROBED")
}

// call makes a system call with zeroes, and returns its error.
func call(nr uintptr) error {
	if _, _, e := unix.Syscall6(nr, 0, 0, 0, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// listen accepts on an address and fails the test on any connection.
func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
			t.Errorf("%s %s was reached from inside", network, address)
		}
	}()
	return network + "=" + l.Addr().String()
}

// TestCanarySockets: no socket of the host can be reached, whatever its kind.
func TestCanarySockets(t *testing.T) {
	t.Parallel()
	tool := t.TempDir()
	if err := copySelf(filepath.Join(tool, "probe")); err != nil {
		t.Fatal(err)
	}
	d := setup(t, func(c *local.Config) { c.ExtraRO = []string{tool + ":/opt/probe"} })
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "canary"})
	if err != nil {
		t.Fatal(err)
	}
	targets := []string{
		listen(t, "tcp", "127.0.0.1:0"),
		listen(t, "unix", filepath.Join(t.TempDir(), "s")),
		listen(t, "unix", "@yudai-canary-"+fmt.Sprint(os.Getpid())),
		"tcp=1.1.1.1:443", "udp=1.1.1.1:53", "tcp=169.254.169.254:80", "unix=/run/dbus/system_bus_socket", "unix=/var/run/docker.sock",
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own { // IPv6 loopback and the host's own addresses in its networks
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLinkLocalUnicast() {
			targets = append(targets, listen(t, "tcp", net.JoinHostPort(ip.IP.String(), "0")))
		}
	}
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{
		Argv: []string{"/opt/probe/probe", "-test.run=^TestProbe$", "-test.v"},
		Env:  map[string]string{"YUDAI_TEST_PROBE": strings.Join(targets, ",")}, Dir: "/tmp",
	})
	if err != nil || !strings.Contains(out, "PROBED") || strings.Contains(out, "BROKEN") {
		t.Errorf("result %+v, %v:\n%s", res, err, out)
	}
}

// copySelf copies this test binary, in a process of its own: a descriptor open
// for writing here would be inherited by whatever another test starts in
// that moment, and the copy could not be executed ("text file busy").
func copySelf(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return exec.Command("cp", self, to).Run()
}

// TestCanaryHostFiles: secrets of the host in the usual places, the state
// directory with the store beside it, and the tree of another run.
func TestCanaryHostFiles(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	d := setup(t, func(c *local.Config) { c.Dir = filepath.Join(top, "sandboxes") })
	store := filepath.Join(top, "yudai.db")
	if err := os.WriteFile(store, []byte("store-secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	other, err := d.Open(t.Context(), sandbox.Spec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Put(t.Context(), sandbox.RepoDir+"/f", strings.NewReader("other-secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "canary"})
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/root"
	}
	var out bytes.Buffer
	_, err = sb.Exec(t.Context(), sandbox.Command{Stdout: &out, Shell: fmt.Sprintf(`
cat '%[1]s' /etc/shadow '%[2]s/sandboxes/other/data/workspace/repo/f' 2>/dev/null
ls -A '%[3]s' /home /root /var/lib /run/dbus /sys '%[2]s' 2>/dev/null | grep -v '^/' | grep .
cat /proc/[0-9]*/root/etc/shadow 2>/dev/null
grep -rl -e store-secret -e other-secret /workspace /tmp /dev/shm /etc /run /opt 2>/dev/null
find / -xdev -type s 2>/dev/null
echo end`, store, filepath.Dir(d2dir(top)), home)})
	if err != nil || out.String() != "end\n" {
		t.Errorf("inside was seen (%v):\n%s", err, out.String())
	}
}

func d2dir(top string) string { return filepath.Join(top, "sandboxes") }

// TestCanaryKernelSettings: even when yudai is root, the code is nobody to the
// kernel: files inside belong to an unprivileged uid of the host.
func TestCanaryKernelSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := setup(t, func(c *local.Config) { c.Dir = dir })
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "canary"})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: `touch mine
for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger /proc/sys/vm/overcommit_memory /proc/self/oom_score_adj_x /sys/kernel/uevent_helper; do
  { echo '|/tmp/evil' >$f; } 2>/dev/null && echo wrote $f; done; dd if=/dev/kmsg count=1 2>/dev/null; dmesg 2>/dev/null; ls /dev/vsock /dev/kvm /dev/mem 2>/dev/null; true`})
	if err != nil || out != "" {
		t.Errorf("allowed inside (%v): %s", err, out)
	}
	if after, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("core_pattern is %q, was %q", after, before)
	}
	st, err := os.Stat(filepath.Join(dir, "sandboxes/canary/data/workspace/repo/mine"))
	if err != nil {
		t.Fatal(err)
	}
	if uid := st.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("the code runs as root of the host")
	}
}

// TestCanaryMemoryHog: whatever stands in for the memory limit on this machine
// (a control group, or without one the limits of each process), a hog ends at it.
func TestCanaryMemoryHog(t *testing.T) {
	t.Parallel()
	sb, err := setup(t).Open(t.Context(), sandbox.Spec{Name: "hog", Limits: sandbox.Limits{Memory: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{
		Shell: "head -c 300000000 /dev/zero | tail -c 200000000 2>/dev/null | wc -c; exit ${PIPESTATUS[1]}", Timeout: time.Minute,
	})
	if err != nil || res.ExitCode == 0 || res.TimedOut || strings.TrimSpace(out) == "200000000" {
		t.Errorf("200 MB in a sandbox of 64 MiB: %q, %+v, %v", out, res, err)
	}
	if out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "echo alive"}); out != "alive\n" {
		t.Errorf("the next command: %q, %+v, %v", out, res, err)
	}
}

// TestHostEnvironmentStaysOut: no process of a sandbox, the helper on the host
// included, has the environment of this one, and none has a command's text in its arguments, which every user can read.
func TestHostEnvironmentStaysOut(t *testing.T) {
	t.Parallel()
	d := setup(t)
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "envs"})
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = sb.Exec(ctx, sandbox.Command{Shell: ": secret-token-1; echo up; (sleep 300; :); :", Stdout: w, Env: map[string]string{"TOKEN": "secret-token-1"}})
	}()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	checked := 0
	for _, f := range found {
		line, _ := os.ReadFile(f)
		if !bytes.Contains(line, []byte("yudai-sandbox:")) || !bytes.Contains(line, []byte(":envs:")) {
			if bytes.Contains(line, []byte("secret-token-1")) {
				t.Errorf("%q tells the environment of a command", line)
			}
			continue
		}
		checked++
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "environ"))
		if len(strings.TrimPrefix(strings.ReplaceAll(string(env), "PWD=/\x00", ""), "GOMAXPROCS=1\x00")) > 0 || bytes.Contains(line, []byte("secret-token-1")) {
			t.Errorf("%q has the environment %.60q", line, env)
		}
	}
	if checked < 3 { // stage, bubblewrap outside, first process inside
		t.Errorf("only %d processes found", checked)
	}
	cancel()
	<-done
}

// TestAsOrdinaryUser runs the whole package again as a user without rights.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("already an ordinary user")
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("runs everything a second time")
	}
	setup(t)
	const uid = 65432 // needs no entry anywhere
	dir, err := os.MkdirTemp("", "yudai-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "local.test")
	if err := copySelf(binary); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.parallel=4", "-test.timeout=5m", "-test.run=^(TestPromises|TestCanary|TestDead|TestHelperDies|TestHost|TestLaunchOutlives|TestLaunchFences|TestLaunchHelperEnds)")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "YUDAI_TEST_REQUIRE=" + os.Getenv("YUDAI_TEST_REQUIRE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("no tests to run")) {
		t.Errorf("as uid %d: %v\n%s", uid, err, out)
	}
}
