package fakesandbox

import (
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// Files are the files of a fake sandbox: content by absolute path. Directories
// exist where files lie.
type Files map[string]string

// clone returns an independent copy.
func (f Files) clone() Files { return maps.Clone(f) }

// below lists the paths under a directory.
func (f Files) below(dir string) []string {
	var out []string
	for p := range f {
		if strings.HasPrefix(p, dir+"/") {
			out = append(out, p)
		}
	}
	return out
}

// checkPath refuses what every driver refuses.
func checkPath(p string) (string, error) {
	clean := path.Clean(p)
	if !path.IsAbs(p) || strings.ContainsRune(p, 0) ||
		!strings.HasPrefix(clean, "/workspace/") && !strings.HasPrefix(clean, "/tmp/") {
		return "", fmt.Errorf("%q: %w", p, sandbox.ErrPath)
	}
	return clean, nil
}
