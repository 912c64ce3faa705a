// Package tree works on the work tree inside a sandbox: it lays the repository out, ignores
// what the preparation left, tells whether the tree changed, collects the patch, and restores
// test files.
//
// It uses a git directory and an index of its own in sandbox.KeepDir. The .git in the work
// tree belongs to the agent, which may commit to it, configure, break or delete it. This
// package reads nothing there but the names of ignored files that were committed. Attributes
// are off in both, so that a patch has the bytes of the files, and an agent cannot turn text
// into "binary" or run a filter.
//
// Callers make one call at a time on one sandbox.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// Errors that callers tell apart.
var (
	// ErrPatch says that a patch does not apply to the base, with git's reason.
	ErrPatch = errors.New("patch does not apply")
	// ErrKeep says that the git directory in sandbox.KeepDir cannot be used.
	ErrKeep = errors.New("the kept git directory is damaged")
)

// TooLarge says that the changes of the work tree exceed a limit. Its text, which names the limit, is for people.
type TooLarge struct{ limit string }

// Error is the text.
func (e TooLarge) Error() string { return "changes are too large: " + e.limit }

// commandTime bounds one of our commands in the sandbox.
const commandTime = 5 * time.Minute

// Places in the sandbox.
const (
	keepGit = sandbox.KeepDir + "/base.git"
	index   = sandbox.KeepDir + "/index" // follows the work tree; never trusted by CollectPatch
)

// environment makes git in the sandbox use our own git directory and no other configuration.
func environment() map[string]string {
	env := map[string]string{
		"GIT_DIR": keepGit, "GIT_WORK_TREE": sandbox.RepoDir, "GIT_INDEX_FILE": index,
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1",
		"GIT_TERMINAL_PROMPT": "0", "GIT_LITERAL_PATHSPECS": "1", "GIT_NO_REPLACE_OBJECTS": "1",
		"GIT_PAGER": "cat", "LC_ALL": "C",
		"REPO": sandbox.RepoDir, "KEEP": sandbox.KeepDir,
	}
	conf := [][2]string{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.untrackedCache", "false"},
		{"core.attributesFile", "/dev/null"}, {"core.excludesFile", "/dev/null"}, {"core.autocrlf", "false"},
		{"core.safecrlf", "false"}, {"core.fileMode", "true"}, {"core.symlinks", "true"}, {"core.ignoreCase", "false"},
		{"core.bare", "false"}, {"core.sparseCheckout", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"},
		{"safe.directory", "*"}, {"advice.addEmbeddedRepo", "false"}, {"submodule.recurse", "false"},
		{"index.sparse", "false"}, {"feature.manyFiles", "false"}, {"core.looseCompression", "0"},
		{"core.bigFileThreshold", fmt.Sprint(bigFile)}, // larger files are streamed, never held in memory
	}
	env["GIT_CONFIG_COUNT"] = fmt.Sprint(len(conf))
	for i, kv := range conf {
		env[fmt.Sprintf("GIT_CONFIG_KEY_%d", i)] = kv[0]
		env[fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)] = kv[1]
	}
	return env
}

// script is one of our commands: bash with "set -euo pipefail", in KeepDir.
type script struct {
	text  string
	env   map[string]string
	stdin io.Reader
	max   int64
}

// run returns what the script printed. Exit code 3 means ErrKeep.
func (s script) run(ctx context.Context, sb sandbox.Sandbox) ([]byte, sandbox.Result, error) {
	env := environment()
	for k, v := range s.env {
		env[k] = v
	}
	var out, words bytes.Buffer
	res, err := sb.Exec(ctx, sandbox.Command{
		Argv: []string{"bash", "-c", "set -euo pipefail\n" + s.text}, Env: env, Dir: "/", Stdin: s.stdin,
		Stdout: &out, Stderr: &tail{buf: &words}, MaxOutput: s.max, Timeout: commandTime,
	})
	switch {
	case err != nil:
		return nil, res, err
	case res.TimedOut:
		return nil, res, fmt.Errorf("not done after %s", commandTime)
	case res.ExitCode == 3:
		return nil, res, fmt.Errorf("%w: %s", ErrKeep, brief(words.String()))
	case res.ExitCode != 0:
		return nil, res, &failure{code: res.ExitCode, words: brief(words.String())}
	}
	return out.Bytes(), res, nil
}

// failure is a script that ran and failed.
type failure struct {
	code  int
	words string
}

// Error is the exit code and the last words.
func (f *failure) Error() string { return fmt.Sprintf("exit %d: %s", f.code, f.words) }

// tail keeps the last 4 KiB written to it.
type tail struct{ buf *bytes.Buffer }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	if over := t.buf.Len() - 4<<10; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

// brief makes the output of a program fit for an error text: one line, printable, cut.
func brief(words string) string {
	words = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(words, ""))
	words = strings.Join(strings.Fields(words), " ")
	if len(words) > 400 {
		words = strings.ToValidUTF8(words[:400], "") + "..."
	}
	return words
}

// nulls joins paths for a program that reads them with -z.
func nulls(paths []string) io.Reader {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return strings.NewReader(b.String())
}
