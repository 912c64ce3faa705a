package agent

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// commandOutput is how many bytes of one command's output are kept.
const commandOutput = 1 << 20

// runCommand runs a command of the native agent: bash -c in the work tree, with stdout
// and stderr merged and an empty input. An empty command does nothing, as in bash. The
// output is valid UTF-8.
func (j Job) runCommand(ctx context.Context, command string) (string, sandbox.Result, error) {
	output, res, err := sandbox.Output(ctx, j.Sandbox, sandbox.Command{
		Shell: cmp.Or(command, ":"), Path: sandbox.ToolPath(), Timeout: j.Limits.CommandTime, MaxOutput: commandOutput,
		Env: map[string]string{
			"PAGER": "cat", "MANPAGER": "cat", "LESS": "-R", "GIT_PAGER": "cat", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1",
		},
	})
	return strings.ToValidUTF8(output, "\uFFFD"), res, err
}

// File is one file in a sandbox; Path is absolute.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode // 0 is 0644
}

// Put writes the file and makes its directories.
func (f File) Put(ctx context.Context, box sandbox.Sandbox) error {
	mode := f.Mode
	if mode == 0 {
		mode = 0o644
	}
	return box.Put(ctx, f.Path, bytes.NewReader(f.Data), mode)
}
