package agent

import "errors"

// Directories of agents that live in the sandbox, beside the repository.
const (
	// InstallDir holds what the agents' installs made, each in a directory of its
	// own name; it is part of the prepared base.
	InstallDir = "/workspace/agents"
	// RunDir is for the run's own files: task, configuration, output, exit status.
	RunDir = "/workspace/agent"
)

// ErrProgramLost says that the program of a run was lost with the machine that it ran on.
// It cannot continue; the run has to begin anew.
var ErrProgramLost = errors.New("the agent's program was lost")

// CLIAgent is what an Agent may also be: a program of its own that calls its model
// through the gateway.
type CLIAgent interface {
	Agent
	Needs() Needs
}

// NeedsOf are the needs of an agent that is a CLI agent; false if it is not.
func NeedsOf(a Agent) (Needs, bool) {
	cli, ok := a.(CLIAgent)
	if !ok {
		return Needs{}, false
	}
	return cli.Needs(), true
}

// Needs are what a CLIAgent needs.
type Needs struct {
	// APIs are those it speaks, the preferred one first; the model must offer one.
	APIs []string
	// Inside says that it lives in the sandbox, which then reaches the gateway. Otherwise
	// it runs beside yudai and works on the sandbox from there. Job.Sandbox can launch
	// either way.
	Inside bool
	// Install makes what it needs in the base; the zero value is nothing.
	Install Installation
}

// Installation is how an agent comes into the base, once for each base.
type Installation struct {
	// Files are written first.
	Files []File
	// Command is for bash, in [InstallDir], with the network of the install; it must end
	// with exit 0. Empty: nothing is installed.
	Command string
	// Hosts may be reached meanwhile, beside the operator's mirrors.
	Hosts []string
}
