package local

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (linux/seccomp.h).
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16 // low half, both architectures are little-endian
)

// cloneNamespaces are the clone flags that make namespaces. CLONE_NEWTIME is
// not among them: it shares its bit with the exit signal.
const cloneNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// seccompProgram returns the filter for commands, as bubblewrap's --seccomp
// wants it: an array of struct sock_filter.
//
// It is a second wall, not the first: namespaces and the unprivileged uid
// already confine. It closes what namespaces do not cover (AF_VSOCK reaches the
// hypervisor from any network namespace) and the kernel's largest attack
// surfaces. Sockets are an allow-list of families; system calls are a
// deny-list, because a work load may be anything that builds and tests.
func seccompProgram() ([]byte, error) {
	arch, ok := seccompArches()[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("no system call filter for %s: the local driver works on amd64 and arm64", runtime.GOARCH)
	}
	var p program
	p.load(offArch)
	p.unless(arch.audit, unix.SECCOMP_RET_KILL_PROCESS)
	p.load(offNumber)
	if arch.x32 != 0 {
		p.atLeast(arch.x32, errno(unix.ENOSYS))
	}
	// clone3 hides its flags behind a pointer; libraries fall back to clone.
	p.when(unix.SYS_CLONE3, errno(unix.ENOSYS))
	for _, nr := range append(arch.denied, deniedCalls()...) {
		p.when(nr, errno(unix.EPERM))
	}
	p.argument(unix.SYS_CLONE, func() { p.anyBit(cloneNamespaces, errno(unix.EPERM)) })
	families := []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	for _, nr := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		p.argument(nr, func() {
			for _, f := range families {
				p.when(f, unix.SECCOMP_RET_ALLOW)
			}
			p.end(errno(unix.EAFNOSUPPORT))
		})
	}
	p.end(unix.SECCOMP_RET_ALLOW)
	return p.bytes()
}

// seccompArch is what differs between architectures.
type seccompArch struct {
	audit  uint32
	x32    uint32   // first number of the x32 calls
	denied []uint32 // calls that exist only here
}

func seccompArches() map[string]seccompArch {
	return map[string]seccompArch{
		"amd64": {audit: unix.AUDIT_ARCH_X86_64, x32: 0x40000000, denied: amd64Denied()},
		"arm64": {audit: unix.AUDIT_ARCH_AARCH64},
	}
}

// deniedCalls answer EPERM on every architecture.
func deniedCalls() []uint32 {
	return []uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	}
}

// program is a classic BPF program under construction.
type program struct{ code []unix.SockFilter }

func (p *program) add(code uint16, k uint32, jt, jf uint8) {
	p.code = append(p.code, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

// load reads one word of the call's description.
func (p *program) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

// end returns an action.
func (p *program) end(action uint32) { p.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// when returns an action if the word equals k.
func (p *program) when(k, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	p.end(action)
}

// unless returns an action if the word differs from k.
func (p *program) unless(k, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 1, 0)
	p.end(action)
}

// atLeast returns an action if the word is k or more.
func (p *program) atLeast(k, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, k, 0, 1)
	p.end(action)
}

// anyBit returns an action if the word has one of the bits.
func (p *program) anyBit(bits, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bits, 0, 1)
	p.end(action)
}

// argument looks at the first argument of one call; afterwards the number is
// loaded again.
func (p *program) argument(number uint32, check func()) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, 0)
	jump := len(p.code) - 1
	p.load(offArg0)
	check()
	p.code[jump].Jf = uint8(len(p.code) - jump - 1) //nolint:gosec // checks are a few instructions
	p.load(offNumber)
}

// errno is the action that makes a call fail.
func errno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// bytes encodes the program.
func (p *program) bytes() ([]byte, error) {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, p.code); err != nil {
		return nil, fmt.Errorf("encode system call filter: %w", err)
	}
	return b.Bytes(), nil
}
