// Package shell is a sandbox as agents see it: the native loop's commands, and the
// machine of an agent that is a program of its own.
package shell

import (
	"context"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solver/tree"
)

// commandOutput is how much of one command's output is kept for the transcript.
const commandOutput = 1 << 20

// Machine is a sandbox, as [agent.Shell] and as [agent.Machine].
type Machine struct {
	box  sandbox.Sandbox
	tree *tree.Watcher
}

var _ agent.Machine = (*Machine)(nil)

// New returns the sandbox as agents see it.
func New(box sandbox.Sandbox) *Machine { return &Machine{box: box, tree: tree.NewWatcher(box)} }

// Run is agent.Shell.
func (m *Machine) Run(ctx context.Context, command string, timeout time.Duration) (agent.Output, error) {
	text, res, err := sandbox.Output(ctx, m.box, sandbox.Command{
		Shell: command, Path: sandbox.ToolPath(), Timeout: timeout, MaxOutput: commandOutput,
		Env: map[string]string{"PAGER": "cat", "MANPAGER": "cat", "LESS": "-R", "GIT_PAGER": "cat", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1"},
	})
	out := agent.Output{
		Text: strings.ToValidUTF8(text, "�"), ExitCode: res.ExitCode, TimedOut: res.TimedOut, Truncated: res.Truncated,
	}
	return out, err
}

// Tree is agent.Shell.
func (m *Machine) Tree(ctx context.Context) (string, error) { return m.tree.Fingerprint(ctx) }
