// Package drivers is the list of sandbox drivers: the one place that knows
// them all by name, for the program's configuration.
package drivers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

// Config is the section sandbox of config.yml: which driver, and the settings of each.
type Config struct {
	// Driver is one of Names.
	Driver string       `yaml:"driver"`
	Local  local.Config `yaml:"local"`
}

// DefaultConfig returns the documented defaults: sandboxes on this machine.
func DefaultConfig() Config {
	return Config{Driver: "local", Local: local.DefaultConfig()}
}

// Names lists the drivers that Config.Driver may name.
func Names() []string { return []string{"local"} }

// Validate reports every bad value with its key inside the section. Settings of
// drivers that are not chosen are checked too: a typo is a typo.
func (c Config) Validate(report func(key, problem string)) {
	if !slices.Contains(Names(), c.Driver) {
		report("driver", unknown(c.Driver))
	}
	c.Local.Validate(func(key, problem string) { report("local."+key, problem) })
}

func unknown(name string) string {
	return fmt.Sprintf("%q is not a driver: use one of %s", name, strings.Join(Names(), ", "))
}

// New returns the chosen driver.
func New(c Config, log zerolog.Logger) (sandbox.Driver, error) {
	switch c.Driver {
	case "local":
		d, err := local.New(c.Local, log)
		if err != nil {
			return nil, fmt.Errorf("make sandbox driver: %w", err)
		}
		return d, nil
	default:
		return nil, fmt.Errorf("sandbox.driver: %s", unknown(c.Driver))
	}
}
