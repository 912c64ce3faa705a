// Package drivers is the list of sandbox drivers: the one place that knows
// them all by name, for the program's configuration.
package drivers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
	"github.com/yudai-dev/yudai/sandbox/e2b"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/sandbox/prime"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Config is the section sandbox of config.yml: which drivers, and the settings of each.
type Config struct {
	// The driver of every solve that chooses none: local (bubblewrap on this machine), docker (a container engine), e2b or prime
	// (machines of these services). docs/drivers.md compares them.
	Driver string `yaml:"driver"`
	// More drivers, which a repository's file (sandbox), a profile, a command (sandbox=NAME) or a request of the API may choose.
	// Only drivers that are named here or above are used.
	Choices []string `yaml:"choices"`
	// The driver that takes over if the chosen one is unavailable or has no room; "" is none.
	Fallback string `yaml:"fallback"`
	// The directory that notes which sandboxes are open at providers, so that none is forgotten. Each deployment needs its own: it
	// holds the deployment's name.
	Records string `yaml:"records"`
	// The local driver.
	Local local.Config `yaml:"local"`
	// The docker driver: an engine with Docker's API.
	Docker docker.Config `yaml:"docker"`
	// The e2b driver: machines of the service E2B. They cannot reach hosts with private addresses, such as your own package
	// mirror.
	E2B e2b.Config `yaml:"e2b"`
	// The prime driver: machines of the service Prime Sandboxes.
	Prime prime.Config `yaml:"prime"`
}

// DefaultConfig returns the documented defaults: sandboxes on this machine.
func DefaultConfig() Config {
	return Config{
		Driver: "local", Choices: []string{}, Records: "data/sandbox-records",
		Local: local.DefaultConfig(), Docker: docker.DefaultConfig(), E2B: e2b.DefaultConfig(), Prime: prime.DefaultConfig(),
	}
}

// Names lists the drivers that the configuration may name.
func Names() []string { return []string{"local", "docker", "e2b", "prime"} }

// Validate reports every bad value with its key inside the section. Settings of
// drivers that are not chosen are checked too: a typo is a typo.
func (c Config) Validate(report setting.Report) {
	report.Unless(slices.Contains(Names(), c.Driver), "driver", unknown(c.Driver))
	for i, name := range c.Choices {
		key := fmt.Sprintf("choices.%d", i)
		switch {
		case !slices.Contains(Names(), name):
			report(key, unknown(name))
		case slices.Contains(c.Choices[:i], name):
			report(key, fmt.Sprintf("%q stands twice", name))
		}
	}
	switch {
	case c.Fallback == "":
	case !slices.Contains(Names(), c.Fallback):
		report("fallback", unknown(c.Fallback)+`; "" is none`)
	case c.Fallback == c.Driver && len(c.Offered()) == 1:
		report("fallback", fmt.Sprintf(`%q is the driver itself: name another one, or "" for none`, c.Fallback))
	}
	report.Unless(c.Records != "", "records", "must name a directory")
	in := func(section string) setting.Report {
		return func(key, problem string) { report(section+"."+key, problem) }
	}
	c.Local.Validate(in("local"))
	c.Docker.Validate(in("docker"))
	c.E2B.Validate(in("e2b"))
	c.Prime.Validate(in("prime"))
}

func unknown(name string) string {
	return fmt.Sprintf("%q is not a driver: use one of %s", name, strings.Join(Names(), ", "))
}

// Offered are the drivers that a solve may choose, the default first.
func (c Config) Offered() []string {
	names := []string{c.Driver}
	for _, name := range c.Choices {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Used are the drivers that are made: those that may be chosen, and the one that takes over.
func (c Config) Used() []string {
	names := c.Offered()
	if c.Fallback != "" && !slices.Contains(names, c.Fallback) {
		names = append(names, c.Fallback)
	}
	return names
}

// New returns the default driver alone, whatever takes over from it.
func New(c Config, log zerolog.Logger) (sandbox.Driver, error) {
	if !slices.Contains(Names(), c.Driver) {
		return nil, fmt.Errorf("sandbox.driver: %s", unknown(c.Driver))
	}
	return c.open(c.Driver, log)
}

// open makes one driver.
func (c Config) open(name string, log zerolog.Logger) (d sandbox.Driver, err error) {
	var book *records.Book
	if name != "local" && slices.Contains(Names(), name) {
		if book, err = records.Open(c.Records, name); err != nil {
			return nil, fmt.Errorf("sandbox.records: %w", err)
		}
	}
	switch name {
	case "local":
		d, err = made(local.New(c.Local, log))
	case "docker":
		d, err = made(docker.New(c.Docker, book, log))
	case "e2b":
		d, err = made(e2b.New(c.E2B, book, log))
	case "prime":
		d, err = made(prime.New(c.Prime, book, log))
	default:
		err = errors.New(unknown(name))
	}
	if err != nil {
		return nil, fmt.Errorf("make sandbox driver %s: %w", name, err)
	}
	return d, nil
}

// made keeps a nil pointer from becoming a driver.
func made[D sandbox.Driver](d D, err error) (sandbox.Driver, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Stage must be the first thing a program that opens sandboxes does: where a driver
// started it as its helper, for the inside of a sandbox, it does not return.
func Stage() { local.Stage() }

// Build makes what sandboxes of a driver start from, at its provider, and shows
// what happens, line by line. It returns the lines of config.yml that use it.
func Build(ctx context.Context, c Config, name string, show func(line string)) (settings string, err error) {
	switch name {
	case "e2b":
		return "sandbox:\n  driver: e2b\n  e2b:\n    template: " + c.E2B.Template + "\n", e2b.Build(ctx, c.E2B, show)
	case "docker":
		return "", errors.New(`nothing to build for driver "docker": build its image with make docker-image, ` +
			"which calls docker build on sandbox/docker/image")
	}
	return "", fmt.Errorf("nothing to build for driver %q: there is something to build for e2b only", name)
}
