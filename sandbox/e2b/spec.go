package e2b

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// checkSpec refuses what no sandbox can have.
func checkSpec(spec sandbox.Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	return checkNetwork(spec.Network)
}

// checkNetwork refuses entries that are not host names: an address there would
// open more than a name does.
func checkNetwork(n sandbox.Network) error {
	if n.Socket != "" {
		return fmt.Errorf("%w: no socket of this machine can be shown in a sandbox of e2b (%s): allow a public name that leads here", errors.ErrUnsupported, n.Socket)
	}
	for _, h := range n.Allow {
		name := strings.TrimPrefix(h, "*.")
		if name == "" || strings.ContainsAny(name, "*/: \t\n") || net.ParseIP(name) != nil {
			return fmt.Errorf("network allow-list: %q is not a host name like proxy.golang.org or *.example.org", h)
		}
	}
	return nil
}

// everywhere is what nothing may reach but what is allowed.
const everywhere = "0.0.0.0/0"

// rules are the network of a spec as the service wants it: everything is denied,
// and what is allowed wins.
func rules(n sandbox.Network) network {
	allow := slices.Clone(n.Allow)
	slices.Sort(allow)
	return network{AllowOut: slices.Compact(allow), DenyOut: []string{everywhere}}
}

// key tells networks apart.
func (n network) key() string { return strings.Join(n.AllowOut, " ") }

// checkLimits refuses a spec that asks for more than a machine has. One that asks
// for less gets more: the template decides.
func checkLimits(l sandbox.Limits, m machine) error {
	fix := "raise it, build the template again with `yudai sandbox build e2b`, or ask for less"
	switch {
	case m.MemoryMiB > 0 && l.Memory > int64(m.MemoryMiB)<<20:
		return fmt.Errorf("%w: %d MiB of memory, and the template has %d (sandbox.e2b.memory_mib): %s", sandbox.ErrLimit, l.Memory>>20, m.MemoryMiB, fix)
	case m.CPUs > 0 && l.CPUs > float64(m.CPUs):
		return fmt.Errorf("%w: %g processors, and the template has %d (sandbox.e2b.cpus): %s", sandbox.ErrLimit, l.CPUs, m.CPUs, fix)
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
	if newer(version, oldest) {
		return nil
	}
	return fmt.Errorf("%w: the template %q has envd %q, and yudai needs %s or newer: build it again with `yudai sandbox build e2b` (sandbox.e2b.template)",
		sandbox.ErrSetting, template, version, oldest)
}

// newer compares versions like 0.6.13: whether a is b or newer.
func newer(a, b string) bool {
	x, y := numbers(a), numbers(b)
	return x != nil && slices.Compare(x, y) >= 0
}

func numbers(version string) []int {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	version, _, _ = strings.Cut(version, "+")
	var out []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}
