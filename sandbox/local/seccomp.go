package local

import (
	"bytes"
	_ "embed" // the table of system calls
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// seccompProgram returns the filter for commands on an architecture, as bubblewrap's
// --seccomp wants it: an array of struct sock_filter.
//
// It is a second wall, not the first: namespaces and the unprivileged uid already confine.
// It closes what namespaces do not cover (AF_VSOCK reaches the hypervisor from any network
// namespace), the kernel's largest attack surfaces, and what future kernels will offer: an
// allow-list of system calls, and of the families of sockets.
func seccompProgram(arch string) ([]byte, error) {
	audit, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[arch]
	if !ok {
		return nil, fmt.Errorf("no system call filter for %s: the local driver works on amd64 and arm64", arch)
	}
	calls, err := allowedCalls(arch)
	if err != nil {
		return nil, err
	}
	var p program
	p.load(offArch)
	p.unless(audit, unix.SECCOMP_RET_KILL_PROCESS)
	p.load(offNumber)
	// clone3 hides its flags behind a pointer; libraries fall back to clone.
	p.when(unix.SYS_CLONE3, errno(unix.ENOSYS))
	p.argument(calls["clone"], func() { p.anyBit(cloneNamespaces, errno(unix.EPERM)) })
	for _, name := range []string{"socket", "socketpair"} {
		p.argument(calls[name], func() {
			for _, f := range []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
				p.when(f, unix.SECCOMP_RET_ALLOW)
			}
			p.end(errno(unix.EAFNOSUPPORT))
		})
	}
	numbers := slices.Sorted(maps.Values(calls))
	p.atLeast(numbers[len(numbers)-1]+1, errno(unix.ENOSYS)) // those of the x32 calls, too
	for i := 0; i < len(numbers); {
		first := numbers[i]
		for i++; i < len(numbers) && numbers[i] == numbers[i-1]+1; i++ {
		}
		p.between(first, numbers[i-1], unix.SECCOMP_RET_ALLOW)
	}
	p.end(errno(unix.EPERM))
	return p.bytes()
}

//go:embed syscalls.txt
var syscallTable string

// allowedCalls are the numbers of the system calls that commands may make, by name.
func allowedCalls(arch string) (map[string]uint32, error) {
	calls := map[string]uint32{}
	for line := range strings.Lines(syscallTable) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] == "#" {
			continue
		}
		text := f[1]
		if arch == "arm64" {
			text = f[2]
		}
		if text == "-" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the table of system calls: %w", err)
		}
		calls[f[0]] = uint32(n)
	}
	return calls, nil
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

// between returns an action if the word is one of first to last.
func (p *program) between(first, last, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, first, 0, 2)
	p.add(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, last, 1, 0)
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
