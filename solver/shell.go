package solver

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

// shell runs the agent's commands in its sandbox.
type shell struct {
	box  sandbox.Sandbox
	tree *tree.Watcher
}

// Run is agent.Shell.
func (s *shell) Run(ctx context.Context, command string, timeout time.Duration) (agent.Output, error) {
	text, res, err := sandbox.Output(ctx, s.box, sandbox.Command{
		Shell: command, Path: sandbox.ToolPath(), Timeout: timeout, MaxOutput: commandOutput,
		Env: map[string]string{"PAGER": "cat", "MANPAGER": "cat", "LESS": "-R", "GIT_PAGER": "cat", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1"},
	})
	out := agent.Output{
		Text: strings.ToValidUTF8(text, "�"), ExitCode: res.ExitCode, TimedOut: res.TimedOut, Truncated: res.Truncated,
	}
	return out, err
}

// Tree is agent.Shell.
func (s *shell) Tree(ctx context.Context) (string, error) { return s.tree.Fingerprint(ctx) }
