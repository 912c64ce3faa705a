package sandbox

import (
	"errors"
	"fmt"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/setting"
)

// CheckName refuses what Spec.Name may not be: names become those of directories,
// control groups, containers and labels.
func CheckName(name string) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,79}$`).MatchString(name) {
		return fmt.Errorf("bad name %q: use a-z, 0-9 and -, at most 80", name)
	}
	return nil
}

// Check refuses a bad name, a bad network, and negative limits with ErrLimit.
func (s Spec) Check() error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	if l := s.Limits; l.Memory < 0 || l.CPUs < 0 || l.Processes < 0 || l.Disk < 0 {
		return fmt.Errorf("%w: a limit is negative", ErrLimit)
	}
	return s.Network.Check()
}

// Check refuses a socket that is no absolute directory, and what is not the name of a host:
// an address would open more than a name does, and a port is nobody's to choose.
func (n Network) Check() error {
	if d := n.Socket; d != "" && (!path.IsAbs(d) || strings.Contains(d, "\x00")) {
		return fmt.Errorf("the directory of the network's socket %q is not absolute", d)
	}
	for _, h := range n.Allow {
		name := strings.TrimPrefix(h, "*.")
		if name == "" || strings.ContainsAny(name, "*/: \t\n") || net.ParseIP(name) != nil {
			return fmt.Errorf("network allow-list: %q is not a host name like proxy.golang.org or *.example.org", h)
		}
	}
	return nil
}

// Explained reports whether an error is one of the contract's already.
func Explained(err error) bool {
	return slices.ContainsFunc([]error{
		ErrUnavailable, ErrCapacity, ErrSetting, ErrGone, ErrLimit, ErrPath, ErrDisk, errors.ErrUnsupported,
	}, func(known error) bool { return errors.Is(err, known) })
}

// CheckPath refuses what is not an absolute path below /workspace or /tmp, with ErrPath.
func CheckPath(p string) error {
	clean := path.Clean(p)
	inside := strings.HasPrefix(clean, "/workspace/") || strings.HasPrefix(clean, "/tmp/")
	if !path.IsAbs(p) || !inside || strings.ContainsAny(p, "\x00") {
		return fmt.Errorf("%q: %w", p, ErrPath)
	}
	return nil
}

// HostLimits are the limits of one sandbox in config.yml, for drivers that impose
// them themselves: they hold for a Spec that asks for nothing else.
type HostLimits struct {
	// Memory of all its processes together, in MiB.
	MemoryMiB int64 `yaml:"memory_mib"`
	// Processor cores; fractions are possible.
	CPUs float64 `yaml:"cpus"`
	// Processes and threads.
	Processes int `yaml:"processes"`
	// Data written beyond the base, in MiB.
	DiskMiB int64 `yaml:"disk_mib"`
}

// MaxMiB is a pebibyte, the most of a size in MiB: more is a slip of the hand, and
// its bytes must fit a number.
const MaxMiB = 1 << 30

// Validate reports bad values; a driver's own processes need the least of them.
func (l HostLimits) Validate(leastProcesses int, report setting.Report) {
	report.Unless(l.MemoryMiB >= 16 && l.MemoryMiB <= MaxMiB, "limits.memory_mib", "must be 16 to 1073741824")
	report.Unless(l.CPUs >= 0.01 && l.CPUs <= 10_000, "limits.cpus", "must be 0.01 to 10000") // false for NaN
	enough := l.Processes >= leastProcesses && l.Processes <= 1<<22
	report.Unless(enough, "limits.processes", fmt.Sprintf("must be %d to 4194304", leastProcesses))
	report.Unless(l.DiskMiB >= 1 && l.DiskMiB <= MaxMiB, "limits.disk_mib", "must be 1 to 1073741824")
}

// Fill fills the zero values of a Spec's limits.
func (l HostLimits) Fill(s Limits) Limits {
	if s.Memory == 0 {
		s.Memory = l.MemoryMiB << 20
	}
	if s.CPUs == 0 {
		s.CPUs = l.CPUs
	}
	if s.Processes == 0 {
		s.Processes = l.Processes
	}
	if s.Disk == 0 {
		s.Disk = l.DiskMiB << 20
	}
	return s
}
