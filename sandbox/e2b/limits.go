package e2b

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// everywhere is what nothing may reach but what is allowed.
const everywhere = "0.0.0.0/0"

// rules are an allow-list as the service wants it: everything is denied, and what is
// allowed wins.
func rules(allow []string) network { return network{AllowOut: allow, DenyOut: []string{everywhere}} }

// checkLimits refuses a spec that asks for more than a machine has. One that asks
// for less gets more: the template decides.
func checkLimits(l sandbox.Limits, m machine) error {
	fix := "raise it, build the template again with `yudai sandbox build e2b`, or ask for less"
	switch {
	case m.MemoryMiB > 0 && l.Memory > int64(m.MemoryMiB)<<20:
		return fmt.Errorf("%w: %d MiB of memory, and the template has %d (%smemory_mib): %s",
			sandbox.ErrLimit, l.Memory>>20, m.MemoryMiB, section, fix)
	case m.CPUs > 0 && l.CPUs > float64(m.CPUs):
		return fmt.Errorf("%w: %g processors, and the template has %d (%scpus): %s", sandbox.ErrLimit, l.CPUs, m.CPUs, section, fix)
	case m.DiskMiB > 0 && l.Disk > int64(m.DiskMiB)<<20:
		return fmt.Errorf("%w: %d MiB of disk, and sandboxes of the plan have %d: ask for less", sandbox.ErrLimit, l.Disk>>20, m.DiskMiB)
	}
	return nil
}

// oldest is the first version of the daemon that has all we need: files as plain
// bytes came with 0.5.7, rules of the network with 0.5.13.
const oldest = "0.5.13"

// checkVersion refuses a template whose daemon is too old.
func checkVersion(template, version string) error {
	have, least := numbers(version), numbers(oldest)
	if slices.Compare(have, least) >= 0 {
		return nil
	}
	return fmt.Errorf("%w: the template %q has envd %q, and yudai needs %s or newer: "+
		"build it again with `yudai sandbox build e2b` (%stemplate)", sandbox.ErrSetting, template, version, oldest, section)
}

// numbers are those of a version like 0.6.13-beta; what cannot be read is older than all.
func numbers(version string) []int {
	v := make([]int, 3)
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return nil
	}
	return v
}
