package agent

import (
	"fmt"

	"github.com/yudai-dev/yudai/internal/setting"
)

// The ways a model gives its commands.
const (
	// ModeTools: the model calls the function tool [ToolName].
	ModeTools = "tools"
	// ModeText: the model writes one fenced block; for models without tool calls.
	ModeText = "text"
)

// The one tool of tool-call mode, as it is declared to a model.
const (
	ToolName         = "bash"
	ToolText         = "Run a command with bash in the work tree and get its exit code and output."
	ToolArgument     = "command"
	ToolArgumentText = "The command, as it would be written after bash -c."
)

// Config of the native agent.
type Config struct {
	// How the model gives a command: tools (a function call) or text (a fenced block, for models without function calls).
	Mode string `yaml:"mode"`
	// A run ends after this many replies in a row without a command; 0 is no limit.
	MaxFormatErrors int `yaml:"max_format_errors"`
	// How many bytes of each command's output the transcript keeps beside what the model saw; 0 keeps none.
	KeepOutput int `yaml:"keep_output"`
}

// maxKeep is the most that KeepOutput can be: every step's output is in memory at once.
const maxKeep = 64 << 20

// DefaultConfig is tool calls, three format errors, 256 KiB kept of each output.
func DefaultConfig() Config {
	return Config{Mode: ModeTools, MaxFormatErrors: 3, KeepOutput: 256 << 10}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	known := c.Mode == ModeTools || c.Mode == ModeText
	report.Unless(known, "mode", fmt.Sprintf("%q is neither %q nor %q", c.Mode, ModeTools, ModeText))
	report.Unless(c.MaxFormatErrors >= 0 && c.MaxFormatErrors <= 1000, "max_format_errors", "must be 0 (no limit) to 1000")
	report.Unless(c.KeepOutput >= 0 && c.KeepOutput <= maxKeep, "keep_output", "must be 0 (keeps none) to 67108864, which is 64 MiB")
}
