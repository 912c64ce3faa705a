package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Modes of a file, as git writes them.
const (
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// maxChange bounds the content of Result.Files, in bytes.
const maxChange = 64 << 20

// Result is what a patch makes of a commit.
type Result struct {
	Tree string // the object name of the resulting tree
	// Files are those in which the tree differs from the commit's, sorted by path, with their
	// content: what GitHub's Git Data API wants. A rename is a deletion and a new file.
	Files []solve.CommitFile
	// Before is what those of them held that were there, by path, and Paths are all files of the tree.
	Before map[string][]byte
	Paths  []string
	// Diff is the same difference as a patch in our git's own words, empty if there is none.
	Diff []byte
}

// Result applies a patch to the base commit and reads back what came of it. There is no work
// tree: a path that leaves the repository, goes through a symbolic link or into a git
// directory does not apply. [ErrPatch] carries git's reason. More than 64 MiB of changed files,
// or of difference, is [ErrTooLarge]. Nothing is left in the mirror.
func (m *Mirror) Result(ctx context.Context, baseSHA string, patch []byte) (Result, error) {
	var r Result
	if err := m.need(ctx, baseSHA); err != nil {
		return r, err
	}
	tmp, done, err := m.scratch()
	if err != nil {
		return r, err
	}
	defer done()
	s, err := m.newScratch(tmp)
	if err != nil {
		return r, err
	}
	if r.Tree, err = s.apply(ctx, baseSHA, patch); err != nil {
		return r, err
	}
	if err = s.changes(ctx, baseSHA, &r); err != nil {
		return r, err
	}
	paths, err := s.git(ctx, call{args: []string{"ls-files", "-z"}})
	if err != nil {
		return r, fmt.Errorf("list the files of %s: %w", r.Tree, err)
	}
	r.Paths = strings.FieldsFunc(string(paths), func(c rune) bool { return c == 0 })
	r.Diff, err = s.git(ctx, difference(baseSHA, r.Tree))
	if err != nil {
		return r, fmt.Errorf("difference of %s: %w", r.Tree, err)
	}
	return r, nil
}

// difference is the call that writes one as a patch.
func difference(of ...string) call {
	return call{args: append([]string{
		"diff-tree", "-r", "-p", "--binary", "--full-index", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/",
		"--dst-prefix=b/", "-U3", "--diff-algorithm=myers", "--submodule=short", "--ignore-submodules=none",
	}, of...), env: []string{"GIT_ATTR_SOURCE=" + emptyTree}}
}

// Merged is the patch that a pull request with this head brought when the commit merged it, in whatever way.
func (m *Mirror) Merged(ctx context.Context, commit, head string) ([]byte, error) {
	if err := errors.Join(m.need(ctx, commit), m.need(ctx, head)); err != nil {
		return nil, err
	}
	return m.git(ctx, difference("--merge-base", commit+"^", head))
}

// emptyTree is the object name of a tree without files: no attribute of the repository's
// decides what is text.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// scratch is a mirror seen with an index and new objects of its own.
type scratch struct {
	mirror *Mirror
	env    []string
}

func (m *Mirror) newScratch(tmp string) (scratch, error) {
	objects := filepath.Join(tmp, "objects")
	if err := os.MkdirAll(filepath.Join(objects, "info"), 0o700); err != nil {
		return scratch{}, fmt.Errorf("make a temporary directory: %w", err)
	}
	borrowed := []byte(filepath.Join(m.dir, "objects") + "\n")
	if err := os.WriteFile(filepath.Join(objects, "info", "alternates"), borrowed, 0o600); err != nil {
		return scratch{}, fmt.Errorf("borrow the mirror's objects: %w", err)
	}
	return scratch{m, []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index"), "GIT_OBJECT_DIRECTORY=" + objects}}, nil
}

func (s scratch) git(ctx context.Context, c call) ([]byte, error) {
	c.env = append(c.env, s.env...)
	return s.mirror.git(ctx, c)
}

// apply makes the tree that the patch makes of the base commit. An empty patch gives the base's own.
func (s scratch) apply(ctx context.Context, baseSHA string, patch []byte) (string, error) {
	if _, err := s.git(ctx, call{args: []string{"read-tree", baseSHA}}); err != nil {
		return "", fmt.Errorf("read the tree of %s: %w", baseSHA, err)
	}
	if len(bytes.TrimSpace(patch)) > 0 {
		args := []string{"apply", "--cached", "--binary", "--whitespace=nowarn", "-p1", "-"}
		if _, err := s.git(ctx, call{args: args, stdin: bytes.NewReader(patch)}); err != nil {
			if refused(err) {
				return "", fmt.Errorf("%w: %w", ErrPatch, err)
			}
			return "", err
		}
	}
	out, err := s.git(ctx, call{args: []string{"write-tree"}})
	if err != nil {
		return "", fmt.Errorf("write the tree: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// changes reads the files in which the resulting tree differs from the base commit.
func (s scratch) changes(ctx context.Context, baseSHA string, r *Result) error {
	out, err := s.git(ctx, call{args: []string{
		"diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", "--no-abbrev", baseSHA, r.Tree,
	}})
	if err != nil {
		return fmt.Errorf("changes of %s: %w", r.Tree, err)
	}
	fields := strings.Split(string(out), "\x00")
	before := map[string]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		// :oldmode newmode oldsha newsha status
		f, path := strings.Fields(fields[i]), fields[i+1]
		if len(f) != 5 {
			return fmt.Errorf("changes of %s: unexpected line %q", r.Tree, fields[i])
		}
		file := solve.CommitFile{Path: path, Mode: f[1], SHA: f[3]}
		if f[4] == "D" {
			file = solve.CommitFile{Path: path, Delete: true}
		}
		r.Files = append(r.Files, file)
		if f[4] != "A" && strings.TrimPrefix(f[0], ":") != modeSubmodule {
			before[path] = f[2]
		}
	}
	after := map[string]string{}
	for _, f := range r.Files {
		if !f.Delete && f.Mode != modeSubmodule {
			after[f.Path] = f.SHA
		}
	}
	if r.Before, err = s.contents(ctx, before); err != nil {
		return err
	}
	data, err := s.contents(ctx, after)
	for i := range r.Files {
		r.Files[i].Data = data[r.Files[i].Path]
	}
	return err
}

// contents are those of objects, by the paths that they have, read with one cat-file for all.
func (s scratch) contents(ctx context.Context, objects map[string]string) (map[string][]byte, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	paths := slices.Sorted(maps.Keys(objects))
	var names strings.Builder
	for _, p := range paths {
		fmt.Fprintln(&names, objects[p])
	}
	out, err := s.git(ctx, call{
		args: []string{"cat-file", "--batch=%(objectsize)"}, stdin: strings.NewReader(names.String()),
		max: maxChange + int64(32*len(paths)), // the content, and lines around it
	})
	if err != nil {
		return nil, fmt.Errorf("read changed files: %w", err)
	}
	r, all := bytes.NewReader(out), map[string][]byte{}
	for _, p := range paths {
		var size int64
		if _, err := fmt.Fscanf(r, "%d\n", &size); err != nil {
			return nil, fmt.Errorf("read changed file %q: %w", p, err)
		}
		data := make([]byte, size+1) // and the end of the line
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("read changed file %q: %w", p, err)
		}
		all[p] = data[:size:size]
	}
	return all, nil
}
