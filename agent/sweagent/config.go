package sweagent

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Config is the section swe_agent of config.yml.
type Config struct {
	// Command is SWE-agent on this machine, a program and its first arguments; empty: the
	// agent is not there.
	Command []string `yaml:"command"`
	// Config is a further configuration file of SWE-agent, absolute; "" is none. It wins
	// over our prompts and tools, and not over what belongs to the run.
	Config string `yaml:"config"`
}

// DefaultConfig is no SWE-agent.
func DefaultConfig() Config { return Config{Command: []string{}} }

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report func(key, problem string)) {
	if len(c.Command) > 0 && !filepath.IsAbs(c.Command[0]) {
		report("command", fmt.Sprintf("%q is not an absolute path: name the program sweagent of its virtual environment, like [/opt/swe-agent/venv/bin/sweagent]", c.Command[0]))
	}
	for i, word := range c.Command {
		if strings.ContainsAny(word, "\x00\n") {
			report(fmt.Sprintf("command.%d", i), "must be one line of text")
		}
	}
	if c.Config != "" && !filepath.IsAbs(c.Config) {
		report("config", fmt.Sprintf("%q is not an absolute path", c.Config))
	}
}
