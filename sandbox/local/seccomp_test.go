package local_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox/local"
)

// filtered is what a filter answers to a call, as the kernel reads it.
func filtered(t *testing.T, code []unix.SockFilter, arch, number, arg0 uint32) uint32 {
	t.Helper()
	words := map[uint32]uint32{0: number, 4: arch, 16: arg0}
	var a uint32
	for pc := 0; pc < len(code); pc++ {
		c := code[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(c.Jt)
			} else {
				pc += int(c.Jf)
			}
		}
		switch c.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = words[c.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == c.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= c.K)
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			jump(a > c.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&c.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return c.K
		default:
			t.Fatalf("instruction %+v", c)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// kernelCalls are the numbers of an architecture's calls, as the headers of Linux have them.
func kernelCalls(t *testing.T, arch string) map[string]uint32 {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+arch+".go"))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]uint32{}
	for _, m := range regexp.MustCompile(`SYS_(\w+)\s*=\s*(\d+)`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.ParseUint(m[2], 10, 32)
		calls[strings.ToLower(m[1])] = uint32(n)
	}
	return calls
}

// refusedCalls must never be in the table: they reach other processes, the kernel's settings,
// mounts and namespaces, or the kernel's largest attack surfaces.
const refusedCalls = `ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd mount umount2 pivot_root move_mount open_tree open_tree_attr
	fsopen fsconfig fsmount fspick mount_setattr statmount listmount listns chroot unshare setns bpf perf_event_open userfaultfd uprobe
	io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key open_by_handle_at fanotify_init kexec_load kexec_file_load reboot syslog
	init_module finit_module delete_module create_module swapon swapoff acct quotactl quotactl_fd settimeofday clock_settime adjtimex clock_adjtime
	sethostname setdomainname vhangup iopl ioperm modify_ldt uselib lookup_dcookie nfsservctl lsm_set_self_attr`

// TestSeccompWalksAllNumbers: of all numbers of both architectures those in the table are
// allowed and no others, and the table has the kernel's numbers.
func TestSeccompWalksAllNumbers(t *testing.T) {
	t.Parallel()
	for arch, audit := range map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64} {
		data, err := local.SeccompProgram(arch)
		if err != nil {
			t.Fatal(err)
		}
		code := make([]unix.SockFilter, len(data)/8)
		if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, code); err != nil {
			t.Fatal(err)
		}
		table, _ := local.AllowedCalls(arch)
		known, allowed, last := kernelCalls(t, arch), map[uint32]string{}, uint32(0)
		for name, n := range table {
			if kernel, ok := known[name]; ok && kernel != n || allowed[n] != "" {
				t.Errorf("%s: %s is %d, not %d (or %d stands twice)", arch, name, kernel, n, n)
			}
			allowed[n], last = name, max(last, n)
		}
		for name := range strings.FieldsSeq(refusedCalls) {
			if _, ok := table[name]; ok {
				t.Errorf("%s: %s is allowed", arch, name)
			}
		}
		for n := range uint32(0x600) {
			want := uint32(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
			switch {
			case n == unix.SYS_CLONE3 || n > last:
				want = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
			case allowed[n] != "":
				want = unix.SECCOMP_RET_ALLOW
			}
			if got := filtered(t, code, audit, n, unix.AF_UNIX); got != want {
				t.Errorf("%s: call %d (%s) answers %#x, want %#x", arch, n, allowed[n], got, want)
			}
			if got := filtered(t, code, audit, 0x40000000|n, 0); got == unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: the x32 call %d is allowed", arch, n)
			}
			if got := filtered(t, code, unix.AUDIT_ARCH_I386, n, 0); got != unix.SECCOMP_RET_KILL_PROCESS {
				t.Errorf("%s: call %d of another architecture answers %#x", arch, n, got)
			}
		}
		for _, family := range []uint32{unix.AF_VSOCK, unix.AF_PACKET, unix.AF_ALG, unix.AF_BLUETOOTH, 0} {
			if got := filtered(t, code, audit, table["socket"], family); got == unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: sockets of family %d are allowed", arch, family)
			}
		}
		if got := filtered(t, code, audit, table["clone"], unix.CLONE_NEWUSER|uint32(unix.SIGCHLD)); got == unix.SECCOMP_RET_ALLOW {
			t.Errorf("%s: clone makes namespaces", arch)
		}
	}
}

// printRefused tries every number that the table lacks; it runs inside a sandbox.
func printRefused() {
	table, _ := local.AllowedCalls(runtime.GOARCH)
	allowed := map[uint32]bool{unix.SYS_CLONE3: true}
	for _, n := range table {
		allowed[n] = true
	}
	for n := range uint32(0x300) {
		if allowed[n] || runtime.GOARCH == "amd64" && n == 336 { // the kernel lets its own uprobe pass every filter
			continue
		}
		if _, _, e := unix.RawSyscall6(uintptr(n), 0, 0, 0, 0, 0, 0); e != unix.EPERM && e != unix.ENOSYS {
			fmt.Println("BROKEN: call", n, "answers", e)
		}
	}
}
