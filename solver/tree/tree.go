// Package tree works on the work tree inside a sandbox: it lays the repository out, ignores
// what the preparation left, tells whether the tree changed, collects the patch, and restores
// test files.
//
// It uses an index of its own in sandbox.KeepDir, and a git directory that each command makes
// anew, over the objects that are kept there. What an agent writes there, or into the .git of
// the work tree, is not obeyed: of that one this package reads only which ignored files are
// in the index. Attributes are off, so that a patch has the bytes of the files, and an agent
// cannot turn text into "binary" or run a filter.
//
// Callers make one call at a time on one sandbox.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/gitenv"
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

const index = sandbox.KeepDir + "/index" // follows the work tree; never trusted by CollectPatch

// environment makes git in the sandbox use our own git directory and no other configuration.
func environment() map[string]string {
	env := gitenv.Variables([][2]string{
		{"core.untrackedCache", "false"}, {"core.autocrlf", "false"}, {"core.safecrlf", "false"}, {"core.fileMode", "true"},
		{"core.symlinks", "true"}, {"core.ignoreCase", "false"}, {"core.bare", "false"}, {"core.sparseCheckout", "false"},
		{"core.splitIndex", "false"}, {"advice.addEmbeddedRepo", "false"}, {"index.sparse", "false"}, {"feature.manyFiles", "false"},
		{"core.looseCompression", "0"},
	}...)
	maps.Copy(env, map[string]string{
		"GIT_WORK_TREE": sandbox.RepoDir, "GIT_INDEX_FILE": index, "REPO": sandbox.RepoDir, "KEEP": sandbox.KeepDir,
		"KEPT": sandbox.KeepDir + "/base.git", "PLAIN": plain,
	})
	return env
}

// fresh starts scripts that need yudai's git directory. It is made anew each time: of the kept
// one only the objects are used, the rules of what is ignored and, where BASE does not name the commit,
// its name. Where anything in there is no file, such as a pipe that would never end, it is damaged.
const fresh = `
test -z "$(find "$KEPT" ! -type f ! -type d -print -quit 2>&1)" || exit 3
GIT_DIR=$(mktemp -d)
export GIT_DIR
trap 'rm -rf "$GIT_DIR"' EXIT
mkdir "$GIT_DIR/refs" "$GIT_DIR/info" "$GIT_DIR/objects" "$GIT_DIR/objects/info"
ln -s "$KEPT/objects/pack" "$GIT_DIR/objects/pack"
cp "$KEPT/info/exclude" "$GIT_DIR/info/exclude" || exit 3
printf '%s' "$PLAIN" > "$GIT_DIR/info/attributes"
test -n "${BASE:-}" || read -r BASE < "$KEPT/refs/heads/main" || exit 3
printf '%s\n' "$BASE" > "$GIT_DIR/HEAD"
git rev-parse --verify --quiet "HEAD^{tree}" >/dev/null 2>&1 || exit 3
mkdir -p "$REPO"
cd "$REPO"
rm -rf "$GIT_INDEX_FILE.lock"
test -f "$GIT_INDEX_FILE" -a ! -L "$GIT_INDEX_FILE" || rm -rf "$GIT_INDEX_FILE"
`

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
	maps.Copy(env, s.env)
	var out, words bytes.Buffer
	res, err := sb.Exec(ctx, sandbox.Command{
		Argv: []string{"bash", "--norc", "-c", "set -euo pipefail\n" + s.text}, Env: env, Dir: "/", Stdin: s.stdin,
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
