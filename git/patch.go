package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Modes of a file, as git writes them.
const (
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// maxChange bounds the content that Changes returns, in bytes.
const maxChange = 64 << 20

// Apply makes the tree that the patch makes of the base commit and returns its
// object name. There is no work tree: a path that leaves the repository, goes
// through a symbolic link or into a git directory does not apply. ErrPatch
// carries git's reason. An empty patch gives the base's own tree.
func (m *Mirror) Apply(ctx context.Context, baseSHA string, patch []byte) (string, error) {
	if err := m.need(ctx, baseSHA); err != nil {
		return "", err
	}
	tmp, done, err := m.scratch()
	if err != nil {
		return "", err
	}
	defer done()
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}
	if _, err := m.git(ctx, call{args: []string{"read-tree", baseSHA}, env: index}); err != nil {
		return "", fmt.Errorf("read the tree of %s: %w", baseSHA, err)
	}
	if len(bytes.TrimSpace(patch)) > 0 {
		args := []string{"apply", "--cached", "--binary", "--whitespace=nowarn", "-p1", "-"}
		if _, err := m.git(ctx, call{args: args, env: index, stdin: bytes.NewReader(patch)}); err != nil {
			if refused(err) {
				return "", fmt.Errorf("%w: %w", ErrPatch, err)
			}
			return "", err
		}
	}
	out, err := m.git(ctx, call{args: []string{"write-tree"}, env: index})
	if err != nil {
		return "", fmt.Errorf("write the tree: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Changes lists the files in which tree differs from the base commit, sorted by
// path, with their content: what GitHub's Git Data API wants. A rename is a
// deletion and a new file. More than 64 MiB together is ErrTooLarge.
func (m *Mirror) Changes(ctx context.Context, baseSHA, tree string) ([]solve.CommitFile, error) {
	if err := m.need(ctx, baseSHA); err != nil {
		return nil, err
	}
	if !isSHA(tree) {
		return nil, fmt.Errorf("tree %q: %w", tree, ErrMissing)
	}
	out, err := m.git(ctx, call{args: []string{
		"diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", "--no-abbrev", baseSHA, tree,
	}})
	if err != nil {
		return nil, fmt.Errorf("changes of %s: %w", tree, err)
	}
	fields := strings.Split(string(out), "\x00")
	var files []solve.CommitFile
	for i := 0; i+1 < len(fields); i += 2 {
		// :oldmode newmode oldsha newsha status
		f := strings.Fields(fields[i])
		if len(f) != 5 {
			return nil, fmt.Errorf("changes of %s: unexpected line %q", tree, fields[i])
		}
		file := solve.CommitFile{Path: fields[i+1], Mode: f[1], SHA: f[3]}
		if f[4] == "D" {
			file = solve.CommitFile{Path: fields[i+1], Delete: true}
		}
		files = append(files, file)
	}
	return files, m.load(ctx, files)
}

// load fills in the content of the files, with one cat-file for all.
func (m *Mirror) load(ctx context.Context, files []solve.CommitFile) error {
	var names strings.Builder
	var wanted []*solve.CommitFile
	for i := range files {
		if f := &files[i]; !f.Delete && f.Mode != modeSubmodule {
			wanted = append(wanted, f)
			fmt.Fprintln(&names, f.SHA)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	out, err := m.git(ctx, call{
		args: []string{"cat-file", "--batch=%(objectsize)"}, stdin: strings.NewReader(names.String()),
		max: maxChange + int64(32*len(wanted)), // the content, and lines around it
	})
	if err != nil {
		return fmt.Errorf("read changed files: %w", err)
	}
	r := bytes.NewReader(out)
	for _, f := range wanted {
		var size int64
		if _, err := fmt.Fscanf(r, "%d\n", &size); err != nil {
			return fmt.Errorf("read changed file %q: %w", f.Path, err)
		}
		data := make([]byte, size+1) // and the end of the line
		if _, err := io.ReadFull(r, data); err != nil {
			return fmt.Errorf("read changed file %q: %w", f.Path, err)
		}
		f.Data = data[:size:size]
	}
	return nil
}
