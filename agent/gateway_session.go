package agent

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// The APIs of models, as agents name their base URL.
const (
	APIChat      = "chat"      // /v1/chat/completions
	APIResponses = "responses" // /v1/responses
	APIMessages  = "messages"  // /v1/messages
)

// Errors that end a run that calls its model through the gateway.
var (
	// ErrLimit says that a limit of the run is reached: its steps or its money.
	ErrLimit = errors.New("limit of the run reached")
	// ErrRunOver says that the run has ended.
	ErrRunOver = errors.New("the run has ended")
)

// GatewaySession is a run's access to its model through the gateway. It closes with the run.
type GatewaySession struct {
	// URL is the gateway as the agent reaches it, without /v1 and without a slash at the end.
	URL string
	// Token is valid for this run only, and only while the run lasts.
	Token string
	// Model is the name to ask for. Whatever a request asks for, the gateway sets the model
	// and the temperature of the experiment.
	Model string
	// APIs are those that the model offers.
	APIs []string
	// Usage is what the run's calls have used, all attempts together.
	Usage func() solve.Usage
	// LastError is the error of the last call if that failed, else nil. It is a
	// [ModelError], [ErrBudget] or [ErrLimit], wrapped.
	LastError func() error
}

// GatewayAccess is how a run reaches the gateway.
type GatewayAccess int

// The ways: a unix socket that is shown in the sandbox; the public address of this
// server; loopback of this machine.
const (
	AccessSocket GatewayAccess = iota
	AccessPublic
	AccessLoopback
)

// Allowance decides whether a run may make a call, and counts what its calls cost.
type Allowance interface {
	// Begin asks for leave to make a call that costs worst at most. If several calls at
	// once could exceed the allowance, it waits for the earlier ones. The error wraps
	// ErrBudget (of the solve), ErrLimit (of the run) or ErrRunOver, or is the context's.
	Begin(ctx context.Context, worst solve.Money) error
	// End counts a call for which Begin gave leave, whatever became of it. It is durable
	// when it returns, and is called exactly once for each Begin. An error means that the
	// run belongs to another owner now, or cannot be stored.
	End(ctx context.Context, c Call) error
}

// Call is one call through the gateway.
type Call struct {
	At       time.Time
	Duration time.Duration
	API      string
	Worst    solve.Money // what Begin was asked for
	Usage    solve.Usage // Calls is 1, or 0 if nothing was answered
	// Estimated says that the provider's own numbers never came, cannot be true, or pass Worst.
	Estimated bool
	Status    int   // HTTP status that the agent saw
	Err       error // public; a [ModelError] where the model failed
	// Request and Response are the bodies without secrets, where the gateway records.
	Request, Response []byte
}
