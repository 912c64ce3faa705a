package agent

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Directories of agents that live in the sandbox, beside the repository.
const (
	// InstallDir holds what the agents' installs made, each in a directory of its
	// own name; it is part of the prepared base.
	InstallDir = "/workspace/agents"
	// RunDir is for the run's own files: task, configuration, output, exit status.
	RunDir = "/workspace/agent"
)

// The APIs that models are reached by, as agents name their base URL.
const (
	APIChat      = "chat"      // /v1/chat/completions
	APIResponses = "responses" // /v1/responses
	APIMessages  = "messages"  // /v1/messages
)

// Errors that end a run that calls its model through the gateway.
var (
	// ErrLimit says that a limit of the run is reached: its steps or its money.
	ErrLimit = errors.New("limit of the run reached")
	// ErrOver says that the run has ended.
	ErrOver = errors.New("the run has ended")
	// ErrAgain says that the program of a run was lost with the machine it ran on, and
	// cannot go on from where it was: the run has to begin anew.
	ErrAgain = errors.New("the agent's program was lost")
)

// Resident is what an Agent may also be: it is a program of its own that calls its
// model through the gateway.
type Resident interface {
	Agent
	Needs() Needs
}

// Needs are what a Resident needs of the world.
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

// Door is a run's way to its model, through the gateway. It closes with the run.
type Door struct {
	// URL is the gateway as it is reached from where the agent runs, without /v1 and
	// without a slash at the end.
	URL string
	// Token is the run's, good for nothing else and for no longer.
	Token string
	// Model is the name to ask for. The gateway replaces it, and the temperature, by
	// what the experiment says, whatever is asked for.
	Model string
	// APIs are those that the model offers.
	APIs []string
	// Usage is what the run's calls have used, all attempts together.
	Usage func() solve.Usage
	// Trouble is the last call that failed and was not followed by one that succeeded;
	// nil if there is none. It is a [ModelError], [ErrBudget] or [ErrLimit], wrapped.
	Trouble func() error
}

// Where is how a run gets to the gateway.
type Where int

// The ways: through a unix socket that is shown in the sandbox; by the public address
// of this server; from this machine itself, over loopback.
const (
	BySocket Where = iota
	ByPublic
	ByHost
)

// Account is what the gateway books the calls of one run on.
type Account interface {
	// Begin asks for leave to make a call that costs worst at most. Where several calls
	// of the run at once could overdraw it waits for those before. The error wraps
	// ErrBudget (the solve's purse), ErrLimit (the run's) or ErrOver, or is the context's.
	Begin(ctx context.Context, worst solve.Money) error
	// End settles a call for which Begin gave leave, whatever became of it. It is
	// durable when it returns, and is called exactly once for each Begin. An error means
	// that the run is somebody else's now, or cannot be stored.
	End(ctx context.Context, c Call) error
}

// Call is one call through the gateway.
type Call struct {
	At       time.Time
	Duration time.Duration
	API      string
	Usage    solve.Usage // Calls is 1, or 0 if nothing was paid
	// Estimated says that the provider's own numbers never came: the stream was cut.
	Estimated bool
	Status    int   // HTTP status that the agent saw
	Err       error // public; a [ModelError] where the model failed
	// Request and Response are the bodies without secrets, where the gateway records.
	Request, Response []byte
}
