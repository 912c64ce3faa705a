package patch

import (
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// Difference is what a patch made of the base: the files of the resulting tree that differ,
// and the same in the words of this machine's own git. What is published are the files, so
// the rules about links, modes, paths and sizes look at them, and not at what a sandbox wrote.
type Difference struct {
	Files   []solve.CommitFile
	Before  map[string][]byte // what those of them held that were there
	Paths   []string          // all files of the tree
	Text    []byte
	Changes []solve.FileChange // what [Read] finds in the text
}

// modeLink is git's mode of a symbolic link.
const modeLink = "120000"

// Read finds the changes in the text. The text and the files must
// name the same files, and the modes are the tree's: then no rule about one can miss what is in the other.
func Read(d Difference) (Difference, error) {
	var err error
	if d.Changes, err = Parse(d.Text); err != nil {
		return d, err
	}
	left := map[string]solve.CommitFile{}
	for _, f := range d.Files {
		left[f.Path] = f
	}
	take := func(path string, deleted bool) (string, bool) {
		f, ok := left[path]
		delete(left, path)
		return f.Mode, ok && f.Delete == deleted
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		mode, ok := take(c.Path, c.Op == "delete")
		if c.OldPath != "" && ok {
			_, ok = take(c.OldPath, true)
		}
		if !ok {
			return d, fmt.Errorf("read difference: the tree does not have the change of %q", c.Path)
		}
		if mode != "" {
			c.Mode = mode
		}
	}
	if len(left) > 0 {
		return d, fmt.Errorf("read difference: the text lacks %d changed files", len(left))
	}
	return d, nil
}

// file is a changed file of the resulting tree; nothing of one that was deleted.
func (d Difference) file(path string) solve.CommitFile {
	i := slices.IndexFunc(d.Files, func(f solve.CommitFile) bool { return f.Path == path })
	if i < 0 {
		return solve.CommitFile{}
	}
	return d.Files[i]
}

// binaryBytes is what the binary files hold: their text in a patch is packed.
func (d Difference) binaryBytes() int {
	n := 0
	for _, c := range d.Changes {
		if c.Binary {
			n += len(d.file(c.Path).Data)
		}
	}
	return n
}
