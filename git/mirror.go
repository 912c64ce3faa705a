package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// Mirror is one bare repository on the host. Its methods may be called
// concurrently, while it is being fetched too.
type Mirror struct {
	dir   string
	locks *locks
	known atomic.Value // the commit that Has found last; if a mirror made anew lacks it, the next command fails
}

// git runs a plumbing command on the mirror.
func (m *Mirror) git(ctx context.Context, c call) ([]byte, error) {
	m.locks.use.RLock()
	defer m.locks.use.RUnlock()
	c.dir = m.dir
	c.env = append(c.env, "GIT_DIR="+m.dir)
	return c.run(ctx)
}

// Resolve returns the commit that a branch, tag, full ref or full commit name
// stands for; a branch wins over a tag of the same name. ErrMissing if there is none.
func (m *Mirror) Resolve(ctx context.Context, ref string) (string, error) {
	tries := []string{"refs/heads/" + ref, "refs/tags/" + ref}
	if isSHA(ref) || strings.HasPrefix(ref, "refs/") {
		tries = []string{ref}
	}
	if strings.ContainsAny(ref, "^~:?*[\\ ") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") {
		tries = nil // an expression, no name
	}
	for _, t := range tries {
		out, err := m.git(ctx, call{args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", t + "^{commit}"}})
		if err == nil {
			return strings.TrimSpace(string(out)), nil
		}
		if !refused(err) {
			return "", err
		}
	}
	return "", fmt.Errorf("%q: %w", ref, ErrMissing)
}

// Has reports whether the commit is in the mirror.
func (m *Mirror) Has(ctx context.Context, sha string) bool {
	if !isSHA(sha) || ctx.Err() != nil {
		return false
	}
	if m.known.Load() == sha {
		return true
	}
	_, err := m.git(ctx, call{args: []string{"cat-file", "-e", sha + "^{commit}"}})
	if err == nil {
		m.known.Store(sha)
	}
	return err == nil
}

// need is ErrMissing, or the context's end, unless the commit is in the mirror.
func (m *Mirror) need(ctx context.Context, sha string) error {
	if m.Has(ctx, sha) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("commit %q: %w", sha, ErrMissing)
}

// Paths lists every file of the commit, sorted, symbolic links included.
func (m *Mirror) Paths(ctx context.Context, sha string) ([]string, error) {
	entries, err := m.list(ctx, sha, "")
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.kind == "blob" {
			paths = append(paths, e.path)
		}
	}
	return paths, nil
}

// maxRead is the largest file ReadFile returns, in bytes.
const maxRead = 8 << 20

// ReadFile returns a regular file of the commit; ErrMissing for anything else.
func (m *Mirror) ReadFile(ctx context.Context, sha, path string) ([]byte, error) {
	entries, err := m.list(ctx, sha, path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.path != path || e.kind != "blob" || e.mode == modeLink {
			continue
		}
		if e.size > maxRead {
			return nil, fmt.Errorf("read %q: %d bytes: %w", path, e.size, ErrTooLarge)
		}
		return m.git(ctx, call{args: []string{"cat-file", "blob", e.sha}})
	}
	return nil, fmt.Errorf("read %q: %w", path, ErrMissing)
}

// entry is one line of ls-tree.
type entry struct {
	mode, kind, sha, path string
	size                  int64
}

// list is ls-tree of the whole commit, or of one path.
func (m *Mirror) list(ctx context.Context, sha, path string) ([]entry, error) {
	if err := m.need(ctx, sha); err != nil {
		return nil, err
	}
	args := []string{"ls-tree", "-z", "-l", "-r", "--full-tree", sha}
	if path != "" {
		args = []string{"ls-tree", "-z", "-l", "--full-tree", sha, "--", path}
	}
	out, err := m.git(ctx, call{args: args})
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", sha, err)
	}
	var entries []entry
	for line := range bytes.SplitSeq(out, []byte{0}) {
		head, name, ok := strings.Cut(string(line), "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 4 {
			continue
		}
		size, _ := strconv.ParseInt(f[3], 10, 64) // "-" for a submodule: no size
		entries = append(entries, entry{mode: f[0], kind: f[1], sha: f[2], path: name, size: size})
	}
	return entries, nil
}

// scratch is a temporary directory beside the mirrors, so that it is on the same file system.
func (m *Mirror) scratch() (string, func(), error) {
	dir, err := os.MkdirTemp(filepath.Dir(m.dir), "new-*")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil //nolint:errcheck // Sweep takes what is left
}
