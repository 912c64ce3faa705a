// Package agent turns an issue and a sandbox into a changed tree. Mini is the
// native agent: the loop of mini-SWE-agent, run on the host, each command in the
// sandbox. The package declares what it needs of a model ([Model]) and imports none.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// ErrBudget says that a budget is used up: the run's or the solve's.
var ErrBudget = errors.New("budget used up")

// Exit statuses of a run, as in mini-SWE-agent's trajectory files, and ours.
const (
	ExitSubmitted = "Submitted"
	ExitLimits    = "LimitsExceeded"      // steps or money of the run
	ExitTime      = "TimeExceeded"        // time of the run
	ExitFormat    = "RepeatedFormatError" // the model does not answer in the format
	ExitEdits     = "EditLimit"           // max edits reached
	ExitOutput    = "OutputLimit"         // bytes of command output of the run
	ExitBudget    = "BudgetExceeded"      // the solve's budget
	ExitCancelled = "Cancelled"
)

// Model answers a conversation. Implementations are in package model.
type Model interface {
	// Query sends the whole history and returns the next assistant message.
	// Retries of passing faults happen inside; an error that comes out ends the run, and the
	// reply's usage is what was paid all the same.
	// A reply that is not in the agreed format is no error here: the loop decides.
	Query(ctx context.Context, history []Message) (Reply, error)
	// Name is the configured model name.
	Name() string
}

// ModelError is what an error of Query may also be.
type ModelError interface {
	error
	// ExitStatus is the name under which the run ends (AuthenticationError, ContextWindowExceededError, ...).
	ExitStatus() string
	// Public is a short sentence for people, without secrets.
	Public() string
}

// Message is one turn of the history, in the neutral form all providers are mapped to.
type Message struct {
	Role       string     `json:"role"` // system, user, assistant, tool, exit; of a CLIAgent start and output, too
	Content    string     `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"` // of a tool observation
	// Native is the provider's own assistant message where the mapping loses
	// something that has to be sent back (thinking blocks); opaque to the loop.
	Native json.RawMessage `json:"native,omitempty"`
	Extra  map[string]any  `json:"extra,omitempty"` // never sent to a model
}

// ToolCall is one call the model made.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text as the model wrote it
}

// Reply is one answer of a model.
type Reply struct {
	Message      Message
	FinishReason string          // stop, length, tool_calls, ...
	Usage        solve.Usage     // of this call, Calls = 1
	Raw          json.RawMessage // the provider's whole response, for the trajectory
}

// Job is one run of an agent.
type Job struct {
	Task     string // issue title and text, already cleaned
	Strategy string // text, may be empty
	// TestCommand is how the repository's tests are run, told to the agent; may be empty.
	TestCommand string
	// Reproduce asks for tests that fail because of the issue, in place of a solution.
	Reproduce bool
	MaxEdits  int // 0: no limit
	Limits    solve.Limits
	Model     Model // nil for a CLIAgent
	// Sandbox holds the work tree. For a CLIAgent it is a [sandbox.Launcher], too.
	Sandbox sandbox.Sandbox
	// Tree returns a fingerprint of the work tree's content; equal means unchanged.
	Tree func(ctx context.Context) (string, error)
	// GatewaySession is a CLIAgent's way to its model.
	Gateway *GatewaySession
	// Name of the run, [a-z0-9-], the same for all owners of an attempt.
	Name string
	// Resume is the stored transcript of an earlier owner; nil for a fresh run.
	Resume []byte
	// Progress so far, with Resume; of a fresh run only the usage of earlier attempts.
	Progress solve.Progress
	// Elapsed is how long earlier owners worked.
	Elapsed time.Duration
	// Save stores the step's lines (JSON lines, appended to the transcript) and the
	// progress. It returns when they are durable; an error ends the run. Its
	// context outlasts the run's by half a minute.
	Save func(ctx context.Context, lines []byte, p solve.Progress) error
	// CheckBudget asks the solve's budget for leave to make a call, and AddCost tells it the cost.
	// CheckBudget returns ErrBudget when nothing of it is left.
	CheckBudget func() error
	AddCost     func(solve.Money)
}

// Result is how an agent ended. Whatever it is, the tree is harvested.
type Result struct {
	Exit       string
	Reason     string // one public sentence
	Submission string
	Progress   solve.Progress
	// Trajectory is the trajectory file that the agent itself wrote; nil for most.
	Trajectory []byte
	// Err is set when the run ended by a failure of ours or the model's, not by the agent's doing.
	Err error
	// Open says that the run has not ended for good: its transcript gets no exit message, so
	// that the next owner can continue it.
	Open bool
}

// Agent turns a job into a changed tree.
type Agent interface {
	// Run works until it submits, meets a limit, or the context ends. It always
	// returns a Result; the context's end is one, too (ExitCancelled, ExitTime).
	Run(ctx context.Context, j Job) Result
}
