package docker

import (
	"fmt"
	"math"
	"net/url"
	"regexp"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// Config is the section sandbox.docker of config.yml.
type Config struct {
	// The engine, unix:///path or tcp://host:port; "" takes DOCKER_HOST and its companions, or the usual socket.
	Host string `yaml:"host"`
	// The image of every sandbox. It is never pulled; `yudai doctor` tells how to build it.
	Image string `yaml:"image"`
	// One of the engine's runtimes by name, such as runsc (gVisor) or kata; "" is its default.
	Runtime string `yaml:"runtime"`
	// The user and group id of commands in the sandbox.
	UID int `yaml:"uid"`
	// The directory of the sockets through which sandboxes with a network reach their proxy. The engine must see it at the same
	// path.
	ProxyDir string `yaml:"proxy_dir"`
	// Whether to work with an engine that cannot limit memory, processor time or processes.
	AllowUnlimited bool `yaml:"allow_unlimited"`
	// Private address ranges that allowed hosts may have, as in local.
	AllowPrivate []string `yaml:"allow_private"`
	// The price of an open sandbox in US dollars per hour, as in local.
	USDPerHour float64 `yaml:"usd_per_hour"`
	// Limits of one sandbox.
	Limits sandbox.HostLimits `yaml:"limits"`
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Image: "yudai/sandbox:1", UID: 1000, ProxyDir: "data/proxies", AllowPrivate: []string{},
		Limits: sandbox.HostLimits{MemoryMiB: 2048, CPUs: 2, Processes: 512, DiskMiB: 4096},
	}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	report.Unless(isHost(c.Host), "host", fmt.Sprintf("%q is not an address like unix:///var/run/docker.sock or tcp://host:2376; "+
		"for an engine behind ssh, forward its socket", c.Host))
	image := regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._/:@-]*$`)
	report.Unless(image.MatchString(c.Image), "image", fmt.Sprintf("%q is not the name of an image like yudai/sandbox:1", c.Image))
	name := regexp.MustCompile(`^[a-zA-Z0-9._-]*$`)
	report.Unless(name.MatchString(c.Runtime), "runtime", fmt.Sprintf("%q is not the name of a runtime like runsc", c.Runtime))
	report.Unless(c.UID >= 1 && c.UID <= math.MaxInt32, "uid", "must be an unprivileged user id, 1 to 2147483647")
	report.Unless(c.ProxyDir != "", "proxy_dir", "must name a directory")
	egress.CheckRanges(c.AllowPrivate, report)
	report.Price("usd_per_hour", c.USDPerHour)
	c.Limits.Validate(16, report)
}

// isHost reports whether the setting host is an engine's address, or empty.
func isHost(host string) bool {
	u, err := url.Parse(host)
	return host == "" ||
		err == nil && u.Scheme == "unix" && u.Host == "" && u.Path != "" ||
		err == nil && u.Scheme == "tcp" && u.Port() != "" && u.Path == ""
}
