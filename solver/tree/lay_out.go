package tree

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// plain switches off every attribute that changes bytes or diffs. It goes to
// info/attributes, which overrides every file in a work tree.
const plain = "* !text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !whitespace\n"

// litter is what test runners and package managers write beside sources. In repositories
// without the usual ignore rules it would get into every patch.
const litter = "__pycache__/\n*.py[co]\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n.tox/\n.hypothesis/\n" +
	"*.egg-info/\nnode_modules/\n.DS_Store\n"

const layScript = `
export GIT_DIR=$KEPT
test ! -e "$GIT_DIR" -a ! -e "$REPO/.git" || { echo "the sandbox holds a repository already" >&2; exit 1; }
mkdir -p "$GIT_DIR" "$REPO"
tar -xof "$KEEP/pack.tar" -C "$GIT_DIR"
rm -f "$KEEP/pack.tar"
mkdir -p "$GIT_DIR/info"
printf '%s' "$LITTER" > "$GIT_DIR/info/exclude"
printf '%s' "$PLAIN" > "$GIT_DIR/info/attributes"
base=$(git rev-parse --verify HEAD)

# The agent's repository borrows the objects and owns the rest.
agent="$REPO/.git"
mkdir -p "$agent/objects/info" "$agent/objects/pack" "$agent/refs/heads" "$agent/refs/tags" "$agent/info"
cp "$GIT_DIR/info/exclude" "$GIT_DIR/info/attributes" "$agent/info/"
cp "$GIT_DIR/HEAD" "$agent/HEAD"
cp "$GIT_DIR/refs/heads/"* "$agent/refs/heads/"
test ! -e "$GIT_DIR/shallow" || cp "$GIT_DIR/shallow" "$agent/shallow"
printf '%s\n' "$GIT_DIR/objects" > "$agent/objects/info/alternates"
{
printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n'
printf '[user]\n\tname = yudai\n\temail = yudai@localhost\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n'
} > "$agent/config"

cd "$REPO"
git read-tree "$base"
git checkout-index -q -f -a
git update-index -q --refresh
cp "$GIT_INDEX_FILE" "$agent/index"
`

// LayOut unpacks a packed repository (a tar as package git writes it) into an empty
// sandbox. The git directory that only yudai uses goes to KeepDir. The work tree, and a
// repository for the agent without remotes and hooks, go to RepoDir. The agent's commits
// have the author "yudai".
func LayOut(ctx context.Context, sb sandbox.Sandbox, pack io.Reader) error {
	if err := sb.Put(ctx, sandbox.KeepDir+"/pack.tar", pack, 0o600); err != nil {
		return fmt.Errorf("lay out the work tree: %w", err)
	}
	_, _, err := script{text: layScript, env: map[string]string{"LITTER": litter}}.run(ctx, sb)
	if err != nil {
		return fmt.Errorf("lay out the work tree: %w", err)
	}
	return nil
}

// baseFiles restores every changed file of the base, in the index too.
const baseFiles = `
git read-tree HEAD
git update-index -q --refresh || true
git diff-files -z --name-only --ignore-submodules=all > "$GIT_DIR/changed"
git checkout-index -q -f -z --stdin < "$GIT_DIR/changed"
git update-index -q --refresh || true
`

const leftoversScript = fresh + baseFiles + `
git ls-files -z --others --exclude-standard --directory
`

// IgnoreLeftovers is called once, after the install and the base's own tests. It restores
// changed files of the base. What these left beside them is ignored from now on, so that it
// never enters a patch: a new directory with everything in it, a single file by its name.
func IgnoreLeftovers(ctx context.Context, sb sandbox.Sandbox) error {
	out, res, err := script{text: leftoversScript, max: 16 << 20}.run(ctx, sb)
	if err == nil && res.Truncated {
		err = fmt.Errorf("the install left too many files: add its output to .gitignore")
	}
	if err != nil {
		return fmt.Errorf("ignore leftovers in the work tree: %w", err)
	}
	var rules strings.Builder
	for path := range strings.SplitSeq(string(out), "\x00") {
		if path != "" {
			rules.WriteString(ignoreRule(path))
			rules.WriteByte('\n')
		}
	}
	if err := note(ctx, sb, rules.String()); err != nil {
		return fmt.Errorf("ignore leftovers in the work tree: %w", err)
	}
	return nil
}

// note adds rules to both exclude files.
func note(ctx context.Context, sb sandbox.Sandbox, rules string) error {
	if rules == "" {
		return nil
	}
	_, _, err := script{
		text:  fresh + `cat > "$GIT_DIR/rules"; for f in "$KEPT" "$REPO/.git"; do cat "$GIT_DIR/rules" >> "$f/info/exclude"; done`,
		stdin: strings.NewReader(rules),
	}.run(ctx, sb)
	return err
}

// Leftovers returns what [IgnoreLeftovers] ignores in a sandbox, for [IgnoreLeftoversOf] in others.
func Leftovers(ctx context.Context, sb sandbox.Sandbox) ([]byte, error) {
	rules, res, err := script{text: fresh + `cat "$GIT_DIR/info/exclude"`, max: 32 << 20}.run(ctx, sb)
	if err == nil && res.Truncated {
		err = fmt.Errorf("the install and the tests left too many files: add their output to .gitignore")
	}
	if err != nil {
		return nil, fmt.Errorf("read the ignored leftovers: %w", err)
	}
	return bytes.TrimPrefix(rules, []byte(litter)), nil
}

// IgnoreLeftoversOf is [IgnoreLeftovers] for a sandbox with the same repository and install in
// which no tests ran. noted is what another sandbox ignores after its tests.
func IgnoreLeftoversOf(ctx context.Context, sb sandbox.Sandbox, noted []byte) error {
	if err := IgnoreLeftovers(ctx, sb); err != nil {
		return err
	}
	if err := note(ctx, sb, string(noted)); err != nil {
		return fmt.Errorf("ignore leftovers of another work tree: %w", err)
	}
	return nil
}

// ignoreRule is the line of an exclude file that means exactly this path below the root
// ("dir/" for a directory). An exclude file cannot contain a line break in a name; it becomes
// "any one character".
func ignoreRule(path string) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range len(path) {
		switch c := path[i]; c {
		case '*', '?', '[', ']', '\\', ' ', '!', '#':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n', '\r':
			b.WriteByte('?')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
