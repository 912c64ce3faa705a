package tree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/internal/gitenv"
	"github.com/yudai-dev/yudai/sandbox"
)

// collectScript brings an index to what the work tree holds, and prints how it differs from
// the base. First it removes what makes git refuse a tree: other repositories inside, devices
// and pipes, files without read permission. No agent uses the sandbox afterwards. Ignored files
// that the agent added to its own index are included, unless the preparation left them.
const collectScript = fresh + `
export GIT_INDEX_FILE="$GIT_DIR/harvest"
find . -type d ! -perm -u+rwx -exec chmod u+rwx {} + 2>/dev/null || true
find . -mindepth 2 -name .git -prune -exec rm -rf {} + 2>/dev/null || true
find . -path ./.git -prune -o ! -type f ! -type d ! -type l -exec rm -f {} + 2>/dev/null || true
find . -path ./.git -prune -o -type f ! -perm -u+r -exec chmod u+r {} + 2>/dev/null || true
git read-tree HEAD

# True if the file has the base's content, or is ignored.
unchanged() {
	entry=$(git ls-files -s -- "$1" | cut -d ' ' -f 2)
	[ -z "$entry" ] || [ "$entry" = "$(git hash-object --no-filters -- "$1")" ]
}

find . -path ./.git -prune -o -type f -size +"$BIG"c -print0 | while IFS= read -r -d '' f; do
	f=${f#./}
	if [ -n "$(git ls-files -z -o --exclude-standard -- "$f" | tr '\0' x)" ] || ! unchanged "$f"; then
		echo "$f" >&2
		exit 4
	fi
done

git add -A --ignore-errors . >/dev/null || true

if test -f "$REPO/.git/index" -a ! -L "$REPO/.git/index" &&
	GIT_INDEX_FILE="$REPO/.git/index" git ls-files -z > "$GIT_DIR/added" 2>/dev/null; then
	git ls-files -z -o --exclude-from="$GIT_DIR/info/exclude" | sort -z > "$GIT_DIR/untracked"
	sort -zu "$GIT_DIR/added" | comm -z -12 - "$GIT_DIR/untracked" | git update-index --add -z --stdin || true
fi

# A directory where the agent embedded a repository is no submodule of the base.
git ls-files -z -s | grep -z '^160000 ' | cut -z -f2- | while IFS= read -r -d '' p; do
	git cat-file -e "HEAD:$p" 2>/dev/null || git ls-tree HEAD -- "$p" | grep -q '^160000 ' || git update-index --force-remove -- "$p"
done || true
links=$(git diff-index --cached --raw --no-renames -z HEAD -- | tr '\0' '\n' | grep -c '^:[0-7]* 120000 \|^:120000 ' || true)
# The patch of a renamed link has no mode and no target, so that nobody could check them.
test "$links" = 0 && renames=-M || renames=--no-renames
git diff-index --cached -p --binary --full-index $renames --no-ext-diff --no-textconv --no-color \
	--src-prefix=a/ --dst-prefix=b/ -U3 --diff-algorithm=myers --submodule=short --ignore-submodules=none HEAD --
`

// CollectPatch returns the difference between the work tree and the base commit as a git
// patch: what the agent committed, changed and added, whatever the state of its own
// repository. A renamed symlink appears as a new one, with its mode and target. An unchanged
// tree gives an empty patch. More than maxBytes is [TooLarge]. Where the sandbox can, everything
// that runs in it ends first: nobody else can have written the patch. It is hostile text all the same.
func CollectPatch(ctx context.Context, sb sandbox.Sandbox, base string, maxBytes int64) ([]byte, error) {
	if r, ok := sandbox.As[sandbox.Restarter](sb); ok {
		err := r.Restart(ctx)
		if err != nil && ctx.Err() == nil {
			err = r.Restart(ctx) // else a machine that is busy for a moment loses what the agent made
		}
		if err != nil {
			return nil, fmt.Errorf("collect the patch: %w", err)
		}
	}
	most := max(gitenv.BigFile, maxBytes)
	s := script{text: collectScript, env: map[string]string{"BASE": base, "BIG": fmt.Sprint(most)}, max: maxBytes + 1}
	patch, res, err := s.run(ctx, sb)
	var f *failure
	switch {
	case errors.As(err, &f) && f.code == 4:
		err = TooLarge{fmt.Sprintf("a new or changed file has more than %d MiB", most>>20)}
	case res.Truncated || int64(len(patch)) > maxBytes:
		err = TooLarge{fmt.Sprintf("the patch has more than %d KiB", maxBytes>>10)}
	}
	if err != nil {
		return nil, fmt.Errorf("collect the patch: %w", err)
	}
	return patch, nil
}

const printScript = fresh + `
git ls-files --error-unmatch . >/dev/null 2>&1 || git read-tree HEAD
code=0
timeout 10 git add -A --ignore-errors . >/dev/null 2>&1 || code=$?
if test "$code" = 124; then # a pipe in the place of one of git's own files would hold it for ever
	rm -f "$GIT_INDEX_FILE.lock"
	find . -path ./.git -prune -o -name '.git?*' ! -type f ! -type d ! -type l -exec rm -f {} + 2>/dev/null || true
	git add -A --ignore-errors . >/dev/null 2>&1 || true
fi
git write-tree --missing-ok
{ git ls-files -z -s | grep -z '^160000 ' | cut -z -f2- || true; git ls-files -z -o --exclude-standard --directory; } |
while IFS= read -r -d '' p; do
	find "./$p" -name .git -prune -o ! -type d -exec ls -lnd --time-style=full-iso {} + 2>/dev/null || true
done | cksum
`

// Watcher tells whether the work tree of one sandbox changed. It reads the tree only if the
// sandbox has no cheap answer.
type Watcher struct {
	sb    sandbox.Sandbox
	stamp string
	sum   string
}

// NewWatcher watches the work tree of sb, which [LayOut] has filled.
func NewWatcher(sb sandbox.Sandbox) *Watcher { return &Watcher{sb: sb} }

// Fingerprint is [Fingerprint], computed again only if the sandbox's stamp changed.
func (w *Watcher) Fingerprint(ctx context.Context) (string, error) {
	stamper, ok := sandbox.As[sandbox.Stamper](w.sb)
	if !ok {
		return Fingerprint(ctx, w.sb)
	}
	stamp, err := stamper.Stamp(ctx)
	if err != nil {
		return "", fmt.Errorf("stamp the work tree: %w", err)
	}
	if w.sum != "" && stamp == w.stamp {
		return w.sum, nil
	}
	sum, err := Fingerprint(ctx, w.sb)
	if err != nil {
		return "", err
	}
	// Computing may change the stamp (a git index in the tree, access times). The stamp from
	// before is kept, so that the next call sees a change that happened meanwhile.
	w.stamp, w.sum = stamp, sum
	return sum, nil
}

// Fingerprint names the content of the work tree: equal for equal files, modes and links. It
// leaves out ignored files and those of [IgnoreLeftovers]. Where the agent made a repository
// inside, or a file cannot be read, it uses size and time instead of content.
func Fingerprint(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	out, _, err := script{text: printScript, max: 1 << 16}.run(ctx, sb)
	if err != nil {
		return "", fmt.Errorf("fingerprint the work tree: %w", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}
