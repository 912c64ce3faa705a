// Package patch reads the patch of a candidate and decides whether it may be published.
// Patches come out of a sandbox, so they are hostile input.
package patch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/yudai-dev/yudai/solve"
)

// MaxBytes is the largest patch [Parse] reads at all, in bytes.
const MaxBytes = 64 << 20

// Parse lists what a patch in git's own format changes, in the order of
// the patch. A patch is foreign input: everything that git diff does not write
// itself (text between files, headers without "diff --git", copies, one path
// twice) is an error, so that no other program can read more in it than this one.
// An empty patch is no change.
func Parse(patch []byte) ([]solve.FileChange, error) {
	parsed, err := parseDiff(patch)
	if err != nil {
		return nil, fmt.Errorf("parse patch: %w", err)
	}
	var out []solve.FileChange
	for _, f := range parsed {
		c := change(f)
		if i := slices.IndexFunc(out, func(o solve.FileChange) bool { return o.Path == c.Path }); i >= 0 {
			// Git writes a change of type (file to symlink) as two entries.
			if out[i].Op != "delete" || c.Op != "add" {
				return nil, fmt.Errorf("parse patch: %q is changed twice", c.Path)
			}
			c.Op, c.Deleted, c.Binary = "modify", out[i].Deleted, c.Binary || out[i].Binary
			out[i] = c
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

func parseDiff(patch []byte) ([]*gitdiff.File, error) {
	if len(patch) > MaxBytes {
		return nil, fmt.Errorf("%d bytes is more than %d", len(patch), MaxBytes)
	}
	headers, err := scanPatch(patch)
	if err != nil {
		return nil, err
	}
	parsed, preamble, err := gitdiff.Parse(bytes.NewReader(patch))
	if err != nil {
		return nil, err
	}
	if preamble != "" || len(parsed) != headers {
		return nil, errors.New("not a patch of git diff")
	}
	for _, f := range parsed {
		if err := checkFile(f); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

// checkFile refuses what the parser accepts and git would read differently.
func checkFile(f *gitdiff.File) error {
	name := nameOf(f)
	switch {
	case f.IsCopy:
		return fmt.Errorf("%q is a copy: make the patch without copy detection", name)
	case name == "" || name == "/dev/null":
		return errors.New("a file without a name")
	case f.IsNew && f.IsDelete, f.IsRename && (f.IsNew || f.IsDelete):
		return fmt.Errorf("%q has headers that contradict each other", name)
	case !f.IsNew && !f.IsDelete && !f.IsRename && f.OldName != f.NewName:
		return fmt.Errorf("%q becomes %q without being renamed", f.OldName, f.NewName)
	case f.IsRename && f.OldName == f.NewName:
		return fmt.Errorf("%q is renamed to itself", name)
	}
	return nil
}

func nameOf(f *gitdiff.File) string {
	if f.IsDelete {
		return f.OldName
	}
	return f.NewName
}

func change(f *gitdiff.File) solve.FileChange {
	c := solve.FileChange{Path: nameOf(f), Op: "modify", Binary: f.IsBinary}
	switch {
	case f.IsNew:
		c.Op = "add"
	case f.IsDelete:
		c.Op = "delete"
	case f.IsRename:
		c.Op, c.OldPath = "rename", f.OldName
	}
	mode := f.NewMode
	if mode == 0 {
		mode = f.OldMode
	}
	if mode != 0 {
		c.Mode = fmt.Sprintf("%06o", uint32(mode))
	}
	for _, frag := range f.TextFragments {
		c.Added += int(frag.LinesAdded)
		c.Deleted += int(frag.LinesDeleted)
	}
	c.Test = IsTestFile(c.Path) || (c.OldPath != "" && IsTestFile(c.OldPath))
	return c
}
