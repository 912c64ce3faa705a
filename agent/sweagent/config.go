package sweagent

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/yudai-dev/yudai/internal/setting"
)

// Config is the section swe_agent of config.yml.
type Config struct {
	// The program and its first arguments, an absolute path: [/opt/swe-agent/venv/bin/sweagent]. If it is empty, nobody can choose
	// the agent.
	Command []string `yaml:"command"`
	// A configuration file of SWE-agent, an absolute path; "" is none. Its prompts and tools replace those of yudai; model,
	// sandbox, repository and limits are always those of the run.
	Config string `yaml:"config"`
}

// DefaultConfig is no SWE-agent.
func DefaultConfig() Config { return Config{Command: []string{}} }

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	if len(c.Command) > 0 && !filepath.IsAbs(c.Command[0]) {
		report("command", fmt.Sprintf("%q is not an absolute path: "+
			"name the program sweagent of its virtual environment, like [/opt/swe-agent/venv/bin/sweagent]", c.Command[0]))
	}
	for i, word := range c.Command {
		report.Unless(!strings.ContainsAny(word, "\x00\n"), fmt.Sprintf("command.%d", i), "must be one line of text")
	}
	report.Unless(c.Config == "" || filepath.IsAbs(c.Config), "config", fmt.Sprintf("%q is not an absolute path", c.Config))
}
