package git

import (
	"context"
	"fmt"
	"strings"
)

// Files lists what a commit of the work tree at root would hold: files that git knows,
// and new ones that it does not ignore. Paths are those of the repository.
func Files(ctx context.Context, root string) ([]string, error) {
	out, err := call{dir: root, args: []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"}}.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", root, err)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}
