package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/sandbox"
)

// applyScript makes the patched tree in an index of its own and writes only the files that
// differ, so that no file of the work tree can be in the way of the patch.
const applyScript = fresh + `
export GIT_INDEX_FILE="$GIT_DIR/apply"
git read-tree HEAD
git apply --cached --binary --whitespace=nowarn -p1 - || exit 5
git diff-index -z --cached --no-renames --name-only --diff-filter=D HEAD -- | while IFS= read -r -d '' p; do rm -f -- "$p"; done
git diff-index -z --cached --no-renames --name-only --diff-filter=AMT HEAD -- > "$GIT_DIR/changed"
git checkout-index -q -f -z --stdin < "$GIT_DIR/changed"
`

// ApplyPatch applies a patch to a work tree that is at the base. It touches only the files of
// the patch. If the patch does not apply, it returns ErrPatch with git's reason and changes
// nothing. An empty patch changes nothing.
func ApplyPatch(ctx context.Context, sb sandbox.Sandbox, patch []byte) error {
	if len(bytes.TrimSpace(patch)) == 0 {
		return nil
	}
	_, _, err := script{text: applyScript, stdin: bytes.NewReader(patch)}.run(ctx, sb)
	var f *failure
	if errors.As(err, &f) && f.code == 5 {
		return fmt.Errorf("%w: %s", ErrPatch, f.words)
	}
	if err != nil {
		return fmt.Errorf("apply the patch: %w", err)
	}
	return nil
}

const restoreScript = fresh + `
export GIT_INDEX_FILE="$GIT_DIR/restore"
git read-tree HEAD
: > "$GIT_DIR/changed"
while IFS= read -r -d '' p; do
	case $(git cat-file -t "HEAD:$p" 2>/dev/null || true) in
	blob) printf '%s\0' "$p" >> "$GIT_DIR/changed" ;;
	tree | commit) ;;
	*) rm -rf -- "$p" ;;
	esac
done
git checkout-index -q -f -z --stdin < "$GIT_DIR/changed"
`

// RestoreTests restores the base's version of files, named from the root of the repository.
// It removes those that the base does not have.
func RestoreTests(ctx context.Context, sb sandbox.Sandbox, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if _, _, err := (script{text: restoreScript, stdin: nulls(paths)}).run(ctx, sb); err != nil {
		return fmt.Errorf("restore test files: %w", err)
	}
	return nil
}
