// Package command runs agents that live in the sandbox: headless programs that get
// the task in a file, work on the tree by themselves, and call their model through
// the gateway. It starts such a program so that it outlives this process, follows
// what it writes, holds it to its limits, and reads how it ended.
//
// What differs between programs is a [Program]; presets are in this package and in
// those below it, and the configuration adds more.
package command

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

// Program describes one agent. Functions must not keep state: another process may go on.
type Program struct {
	// Name is what people write in agents=...
	Name string
	// APIs, the preferred one first.
	APIs    []string
	Install agent.Installation
	// Prepare returns what is started, and the files it needs.
	Prepare func(t Task) (Start, error)
	// Collect turns what the program wrote since into messages. It is called about once a
	// second, and at the end until it returns the at that it got; at is what it returned
	// before, 0 at first, and kept across restarts. It may return a part of what there is.
	// nil keeps the program's output.
	Collect func(ctx context.Context, box sandbox.Sandbox, at int) (messages []agent.Message, next int, err error)
	// Ended reads how the program ended; nil judges by the exit code alone. It is also
	// asked after a program that was stopped (ExitCode -1): then only its Trajectory counts.
	Ended func(ctx context.Context, box sandbox.Sandbox, e End) Outcome
}

// Task is what a program is started for. Texts are foreign: they go into files, never
// into a command line or a template.
type Task struct {
	// Text is the whole task: how to work, the issue, the strategy, the test command, the
	// limits. It is also in the file [TaskFile].
	Text    string
	Gateway agent.GatewaySession
	API     string // the one to speak: the first of the program's that the model offers
	// Steps and Edits are limits to pass on where the program knows such; 0 is none.
	Steps, Edits int
	// CommandTime is the limit of one command where the program knows such.
	CommandTime time.Duration
}

// Start is a program to start.
type Start struct {
	Files []agent.File
	Argv  []string
	Env   map[string]string
	Path  []string // directories that are looked in first
}

// End is how a program ended by itself.
type End struct {
	ExitCode int    // -1: it was stopped
	Output   []byte // the last part of what it printed
}

// Outcome is what the end means.
type Outcome struct {
	Exit       string // an exit status of package agent, or the program's own word
	Reason     string // one public sentence
	Submission string
	Trajectory []byte
	Err        error
}

// Files of a run inside the sandbox.
const (
	TaskFile   = agent.RunDir + "/task.md"
	OutputFile = agent.RunDir + "/output.log"
	ExitFile   = agent.RunDir + "/exit"
)

// TextOf joins the texts of a message's content in JSON: a text, a list of parts, or nothing.
func TextOf(raw json.RawMessage) string {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
