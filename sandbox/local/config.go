package local

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// Config is the section sandbox.local of config.yml.
type Config struct {
	// The directory of sandboxes and prepared bases. It must not be on an overlay (a container's own layer). A file system with
	// reflinks, or plenty of room, is best.
	Dir string `yaml:"dir"`
	// The unprivileged user id of sandboxes if yudai runs as root; nothing else may belong to it. If yudai runs as an ordinary
	// user, it uses that user instead.
	UID int `yaml:"uid"`
	// More files and directories of this machine that sandboxes can read: /opt/tools, or /host/path:/inside/path. The code can
	// read everything in them.
	ExtraRO []string `yaml:"extra_ro"`
	// The Go installation that sandboxes see; "" is that of this machine, none is no Go beyond /usr.
	GoRoot string `yaml:"go_root"`
	// Toolchains of this machine that sandboxes see if they are outside /usr (rustup, nvm and the like): rust, node. [] is none.
	Toolchains []string `yaml:"toolchains"`
	// How one prepared base becomes many sandboxes: overlay, copy, or auto for the better of the two.
	Fork string `yaml:"fork"`
	// Whether to work without control groups. Memory and processes are then limited by weaker means, and processor time not at
	// all.
	AllowUnlimited bool `yaml:"allow_unlimited"`
	// The least free room on the disk of dir, in MiB. Below it, commands that write are ended.
	FreeDiskMiB int64 `yaml:"free_disk_mib"`
	// Private address ranges that allowed hosts may have, such as 10.1.0.0/16 for your own package mirror. All others stay closed.
	AllowPrivate []string `yaml:"allow_private"`
	// The price of an open sandbox in US dollars per hour: your machine's price divided by the number of sandboxes that it holds,
	// or 0.
	USDPerHour float64 `yaml:"usd_per_hour"`
	// Limits of one sandbox.
	Limits sandbox.HostLimits `yaml:"limits"`
}

// Values of Config.Fork.
const (
	forkAuto    = "auto"
	forkOverlay = "overlay"
	forkCopy    = "copy"
)

const noGo = "none"

// leastProcesses is the least of Limits.Processes; ownProcesses come on top.
const leastProcesses = 5

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Dir: "data/sandboxes", UID: 700001, ExtraRO: []string{}, Toolchains: []string{"rust", "node"}, Fork: forkAuto,
		FreeDiskMiB: 1024, AllowPrivate: []string{},
		Limits: sandbox.HostLimits{MemoryMiB: 2048, CPUs: 2, Processes: 512, DiskMiB: 4096},
	}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	report.Unless(c.Dir != "", "dir", "must name a directory")
	report.Unless(c.UID >= 1 && c.UID <= math.MaxInt32, "uid", "must be an unprivileged user id, 1 to 2147483647")
	known := slices.Contains([]string{forkAuto, forkOverlay, forkCopy}, c.Fork)
	report.Unless(known, "fork", fmt.Sprintf("%q is not one of auto, overlay, copy", c.Fork))
	report.Unless(c.FreeDiskMiB >= 0 && c.FreeDiskMiB <= sandbox.MaxMiB, "free_disk_mib", "must be 0 to 1073741824")
	report.Unless(c.GoRoot == "" || c.GoRoot == noGo || filepath.IsAbs(c.GoRoot), "go_root", "must be an absolute path, empty, or none")
	for i, name := range c.Toolchains {
		problem := checkToolchain(name)
		report.Unless(problem == "", fmt.Sprintf("toolchains.%d", i), problem)
	}
	for i, e := range c.ExtraRO {
		problem := checkBind(e)
		report.Unless(problem == "", fmt.Sprintf("extra_ro.%d", i), fmt.Sprintf("%q: %s", e, problem))
	}
	egress.CheckRanges(c.AllowPrivate, report)
	report.Price("usd_per_hour", c.USDPerHour)
	c.Limits.Validate(leastProcesses, report)
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
