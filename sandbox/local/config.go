package local

import (
	"fmt"
	"math"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// Config is the section sandbox.local of config.yml.
type Config struct {
	// Dir holds the files of sandboxes and bases. It must not lie on an overlay
	// (a container's own layer); a file system with reflinks or plenty of room is best.
	Dir string `yaml:"dir"`
	// UID is the unprivileged host uid (and gid) that every sandbox runs as when
	// yudai runs as root; it needs no entry in passwd and must own nothing else.
	// As an ordinary user yudai uses that user, and UID is ignored.
	UID int `yaml:"uid"`
	// ExtraRO are more host files and directories shown read-only: "/opt/tools",
	// or "/host/path:/inside/path". Everything in them is readable by the code.
	ExtraRO []string `yaml:"extra_ro"`
	// GoRoot is the Go installation to offer; empty finds that of the host,
	// "none" offers none beyond what lies under /usr.
	GoRoot string `yaml:"go_root"`
	// Toolchains are those of this machine's that are offered, too, where they
	// lie outside /usr: rust, node.
	Toolchains []string `yaml:"toolchains"`
	// Fork says how a prepared base becomes many sandboxes: "auto" mounts an
	// overlay if the kernel and file system allow it and copies otherwise;
	// "overlay" and "copy" insist.
	Fork string `yaml:"fork"`
	// AllowUnlimited lets sandboxes run where control groups cannot be used (an
	// ordinary user without delegation): memory and processes are then limited
	// per command by weaker means, processor time not at all.
	AllowUnlimited bool `yaml:"allow_unlimited"`
	// FreeDiskMiB is the floor of free space on Dir's file system: below it the
	// commands that write are ended.
	FreeDiskMiB int64 `yaml:"free_disk_mib"`
	// AllowPrivate are address ranges (CIDR) that allow-listed hosts may resolve
	// to although they are private: a package mirror inside the company.
	AllowPrivate []string `yaml:"allow_private"`
	// USDPerHour is what a sandbox is booked with while it is open, in US dollars for an hour.
	USDPerHour float64 `yaml:"usd_per_hour"`
	// Limits hold for sandboxes that ask for nothing else.
	Limits sandbox.HostLimits `yaml:"limits"`
}

// Values of Config.Fork.
const (
	forkAuto    = "auto"
	forkOverlay = "overlay"
	forkCopy    = "copy"
)

const noGo = "none"

// maxUSD is far above the price of any machine, for an hour.
const maxUSD = 1000

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Dir: "data/sandboxes", UID: 700001, ExtraRO: []string{}, Toolchains: []string{"rust", "node"}, Fork: forkAuto,
		FreeDiskMiB: 1024, AllowPrivate: []string{},
		Limits: sandbox.HostLimits{MemoryMiB: 2048, CPUs: 2, Processes: 512, DiskMiB: 4096},
	}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report func(key, problem string)) {
	if c.Dir == "" {
		report("dir", "must name a directory")
	}
	if c.UID < 1 || c.UID > math.MaxInt32 {
		report("uid", "must be an unprivileged user id, 1 to 2147483647")
	}
	if !slices.Contains([]string{forkAuto, forkOverlay, forkCopy}, c.Fork) {
		report("fork", fmt.Sprintf("%q is not one of auto, overlay, copy", c.Fork))
	}
	if c.FreeDiskMiB < 0 || c.FreeDiskMiB > sandbox.MaxMiB {
		report("free_disk_mib", "must be 0 to 1073741824")
	}
	if c.GoRoot != "" && c.GoRoot != noGo && !filepath.IsAbs(c.GoRoot) {
		report("go_root", "must be an absolute path, empty, or none")
	}
	for i, name := range c.Toolchains {
		if problem := checkToolchain(name); problem != "" {
			report(fmt.Sprintf("toolchains.%d", i), problem)
		}
	}
	for i, e := range c.ExtraRO {
		if problem := checkBind(e); problem != "" {
			report(fmt.Sprintf("extra_ro.%d", i), fmt.Sprintf("%q: %s", e, problem))
		}
	}
	for i, p := range c.AllowPrivate {
		if _, err := netip.ParsePrefix(p); err != nil {
			report(fmt.Sprintf("allow_private.%d", i), fmt.Sprintf("%q is not an address range like 10.1.0.0/16", p))
		}
	}
	if !(c.USDPerHour >= 0 && c.USDPerHour <= maxUSD) { // true for NaN
		report("usd_per_hour", "must be 0 to 1000 US dollars")
	}
	c.Limits.Validate(4, report)
}

// splitBind splits an entry of ExtraRO into the host's path and the one inside.
func splitBind(e string) (host, inside string) {
	host, inside, ok := strings.Cut(e, ":")
	if !ok {
		inside = host
	}
	return host, inside
}

// checkBind says what is wrong with an entry of ExtraRO, or nothing. Places the
// sandbox can write are refused: a link planted there would decide where
// bubblewrap mounts.
func checkBind(e string) string {
	host, inside := splitBind(e)
	if !path.IsAbs(host) || !path.IsAbs(inside) || path.Clean(host) != host || path.Clean(inside) != inside {
		return "must be an absolute path, or two joined by a colon"
	}
	for _, taken := range []string{"/workspace", "/tmp", "/proc", "/dev", "/run/yudai", "/etc"} {
		if inside == "/" || inside == taken || strings.HasPrefix(inside, taken+"/") {
			return "cannot be shown at " + inside + "; choose another path inside, as in /host/path:/opt/name"
		}
	}
	return ""
}
