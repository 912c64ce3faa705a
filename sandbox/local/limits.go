package local

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
)

// ownProcesses are the threads of ours that count inside a limit. Seven programs of ours may
// run at a time: the first process, the forwarder, the supervisor of what was launched, and for
// two commands the supervisor and the call that shows the command. Each has 4 or 5 threads when
// the machine is idle; on a busy one the runtime adds some. The rest is the sandbox's own.
const ownProcesses = 48

// group is the control group of one sandbox: it holds all processes of all its
// commands together.
type group interface {
	add(pid int) error
	// ooms is how many processes the memory limit has killed so far.
	ooms() int64
	remove() error
}

const cgroupRoot = "/sys/fs/cgroup"

// cpuPeriod is the scheduler's accounting period in microseconds (the kernel's default).
const cpuPeriod = 100_000

// newGroup makes a control group below our own, in whatever version of control
// groups this machine uses.
func newGroup(name string, l sandbox.Limits) (group, error) {
	switch cgroups.Mode() {
	case cgroups.Legacy, cgroups.Hybrid:
		return newGroup1(name, l)
	case cgroups.Unified:
		return newGroup2(name, l)
	default:
		return nil, errors.New("control groups are not mounted")
	}
}

// cgroup is a control group of either version.
type cgroup struct {
	enter   func(pid uint64) error
	destroy func() error
	gone    error  // of destroy, where there is nothing to remove
	events  string // the file that counts what the memory limit killed
}

func (g *cgroup) add(pid int) error {
	if err := g.enter(uint64(pid)); err != nil { //nolint:gosec // pids are positive
		return fmt.Errorf("enter control group: %w", err)
	}
	return nil
}

func (g *cgroup) ooms() int64 { return counter(g.events, "oom_kill") }

func (g *cgroup) remove() error {
	if err := g.destroy(); err != nil && !errors.Is(err, g.gone) {
		return fmt.Errorf("remove control group: %w", err)
	}
	return nil
}

// newGroup1 makes a control group of version 1, one directory per controller.
func newGroup1(name string, l sandbox.Limits) (group, error) {
	own, err := cgroup1.ParseCgroupFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read own control groups: %w", err)
	}
	at := func(s cgroup1.Name) (string, error) { return filepath.Join("/", own[string(s)], name), nil }
	hierarchy := func() ([]cgroup1.Subsystem, error) {
		return []cgroup1.Subsystem{
			cgroup1.NewMemory(cgroupRoot), cgroup1.NewPids(cgroupRoot), cgroup1.NewCpu(cgroupRoot),
		}, nil
	}
	memory, pids, quota, period := l.Memory, int64(l.Processes+ownProcesses), int64(l.CPUs*cpuPeriod), uint64(cpuPeriod)
	res := &specs.LinuxResources{
		Memory: &specs.LinuxMemory{Limit: &memory},
		Pids:   &specs.LinuxPids{Limit: &pids},
		CPU:    &specs.LinuxCPU{Quota: &quota, Period: &period},
	}
	if _, err := os.Stat(filepath.Join(cgroupRoot, "memory/memory.memsw.limit_in_bytes")); err == nil {
		res.Memory.Swap = &memory
	}
	g, err := cgroup1.New(at, res, cgroup1.WithHierarchy(hierarchy))
	if err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	path, _ := at(cgroup1.Memory)
	return &cgroup{
		enter: func(pid uint64) error { return g.AddProc(pid) }, destroy: g.Delete, gone: cgroup1.ErrCgroupDeleted,
		events: filepath.Join(cgroupRoot, "memory", path, "memory.oom_control"),
	}, nil
}

func newGroup2(name string, l sandbox.Limits) (group, error) {
	at, err := parent2()
	if err != nil {
		return nil, err
	}
	memory, noSwap, pids, quota, period := l.Memory, int64(0), int64(l.Processes+ownProcesses), int64(l.CPUs*cpuPeriod), uint64(cpuPeriod)
	at = filepath.Join(at, name)
	m, err := cgroup2.NewManager(cgroupRoot, at, &cgroup2.Resources{
		Memory: &cgroup2.Memory{Max: &memory, Swap: &noSwap},
		Pids:   &cgroup2.Pids{Max: pids},
		CPU:    &cgroup2.CPU{Max: cgroup2.NewCPUMax(&quota, &period)},
	})
	if err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	return &cgroup{enter: m.AddProc, destroy: m.Delete, gone: os.ErrNotExist, events: filepath.Join(cgroupRoot, at, "memory.events")}, nil
}

// parent2 is where our groups go. A group with processes cannot have limited
// children in version 2, so root uses the top; a user needs a delegated parent.
func parent2() (string, error) {
	if os.Geteuid() == 0 {
		return "/", nil
	}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("read own control group: %w", err)
	}
	own := strings.TrimPrefix(strings.TrimSpace(string(data)), "0::")
	parent := filepath.Dir(own)
	if err := unix.Access(filepath.Join(cgroupRoot, parent, "cgroup.procs"), unix.W_OK); err != nil {
		return "", fmt.Errorf("no delegated control group: %w", err)
	}
	return parent, nil
}

// counter reads one "name value" line of a file; 0 if there is none.
func counter(file, name string) int64 {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

// rlimits are the limits that the kernel keeps per process, put on the first
// process inside and inherited by all others.
//
// Without a control group they must stand in for it. RLIMIT_DATA is used for
// memory, not RLIMIT_AS: language runtimes reserve far more addresses than
// they use. RLIMIT_NPROC counts per user namespace since Linux 5.14, so it
// holds for one sandbox's processes and does not count others of the user.
func rlimits(l sandbox.Limits, grouped bool) []rlimit {
	const files = 65536
	out := []rlimit{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_NOFILE, files},
		{unix.RLIMIT_FSIZE, uint64(l.Disk)}, //nolint:gosec // limits are positive
	}
	if !grouped {
		out = append(out,
			rlimit{unix.RLIMIT_DATA, uint64(l.Memory)},                    //nolint:gosec // as above
			rlimit{unix.RLIMIT_NPROC, uint64(l.Processes + ownProcesses)}) //nolint:gosec // as above
	}
	return out
}
