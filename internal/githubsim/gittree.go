package githubsim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

type treeEntry struct {
	mode, kind, sha, path string
	size                  int
}

// tree lists a tree, all levels of it if deep, and only path unless it is empty.
func (g gitDir) tree(sha string, deep bool, path string) ([]treeEntry, error) {
	args := []string{"ls-tree", "-z", "-l", "--full-tree"}
	if deep {
		args = append(args, "-r", "-t")
	}
	args = append(args, sha)
	if path != "" {
		args = append(args, "--", path)
	}
	out, err := g.run(nil, args...)
	if err != nil {
		return nil, err
	}
	var all []treeEntry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 4 {
			continue
		}
		size, _ := strconv.Atoi(fields[3])
		all = append(all, treeEntry{fields[0], fields[1], fields[2], path, size})
	}
	return all, nil
}

// errTree says that an entry of a new tree does not fit.
var errTree = errors.New("bad tree")

// graft writes a tree: base ("" for none) with entries put in; an empty sha deletes.
func (g gitDir) graft(base string, entries []treeEntry) (string, error) {
	dir, err := os.MkdirTemp("", "githubsim-index-")
	if err != nil {
		return "", fmt.Errorf("make index directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	env := []string{"GIT_DIR=" + g.path, "GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	if base != "" {
		if _, err := git(env, nil, "read-tree", base); err != nil {
			return "", err
		}
	}
	var lines strings.Builder
	for _, e := range entries {
		if e.mode == "040000" && e.sha != "" {
			continue
		}
		if e.sha == "" {
			if _, err := g.line("cat-file", "-e", base+":"+e.path); base == "" || err != nil {
				return "", fmt.Errorf("delete %s: %w", e.path, errTree)
			}
			out, err := git(env, nil, "ls-files", "-z", "--", e.path)
			if err != nil {
				return "", err
			}
			for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
				fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", 40), path)
			}
			continue
		}
		fmt.Fprintf(&lines, "%s %s\t%s\x00", e.mode, e.sha, e.path)
	}
	if _, err := git(env, []byte(lines.String()), "update-index", "-z", "--index-info"); err != nil {
		return "", fmt.Errorf("%w: %w", errTree, err)
	}
	for _, e := range entries {
		if e.mode != "040000" || e.sha == "" {
			continue
		}
		if _, err := git(env, nil, "rm", "-r", "-q", "--cached", "--ignore-unmatch", "--", e.path); err != nil {
			return "", err
		}
		if _, err := git(env, nil, "read-tree", "--prefix="+e.path+"/", e.sha); err != nil {
			return "", fmt.Errorf("%w: %w", errTree, err)
		}
	}
	out, err := git(env, nil, "write-tree")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errTree, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// set moves a reference from old ("" means it must not exist) to sha; an empty
// sha deletes it.
func (g gitDir) set(name, sha, old string) error {
	if sha == "" {
		_, err := g.run(nil, "update-ref", "-d", name, old)
		return err
	}
	if g.setLoose(name, sha, old) {
		return nil
	}
	if old == "" {
		old = strings.Repeat("0", 40)
	}
	_, err := g.run(nil, "update-ref", name, sha, old)
	return err
}

func (g gitDir) ancestor(old, sha string) bool {
	_, err := g.run(nil, "merge-base", "--is-ancestor", old, sha)
	return err == nil
}

// mergeBase is the best common ancestor, or "".
func (g gitDir) mergeBase(a, b string) string {
	sha, err := g.pure("merge-base", a, b)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(sha))
}

// log lists the commits that are in b but not in a, oldest first.
func (g gitDir) log(a, b string) ([]string, error) {
	out, err := g.pure("rev-list", "--reverse", "--topo-order", b, "--not", a)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}

type fileChange struct {
	path, old, status, sha string
	added, deleted         int
	patch                  string
}

// changes is what differs between two commits or trees, with patches.
func (g gitDir) changes(a, b string) ([]fileChange, error) {
	out, err := g.pure("diff-tree", "-r", "-M", "-z", "--raw", "--abbrev=40", a, b)
	if err != nil {
		return nil, err
	}
	var all []fileChange
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		meta := strings.Fields(fields[i])
		if len(meta) != 5 {
			return nil, fmt.Errorf("read git diff-tree: unexpected line %q", fields[i])
		}
		c := fileChange{path: fields[i+1], sha: meta[3], status: "modified"}
		switch meta[4][0] {
		case 'A':
			c.status = "added"
		case 'D':
			c.status, c.sha = "removed", meta[2]
		case 'R':
			i++
			c.status, c.old, c.path = "renamed", c.path, fields[i+1]
		}
		args := []string{"diff", "-M", "--no-color", "--no-ext-diff", a, b, "--", c.path}
		if c.old != "" {
			args = append(args, c.old)
		}
		patch, err := g.pure(args...)
		if err != nil {
			return nil, err
		}
		if _, hunks, ok := strings.Cut(string(patch), "\n@@"); ok {
			c.patch = "@@" + strings.TrimSuffix(hunks, "\n")
		}
		c.count()
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].path < all[j].path })
	return all, nil
}

func (c *fileChange) count() {
	for line := range strings.Lines(c.patch) {
		switch line[0] {
		case '+':
			c.added++
		case '-':
			c.deleted++
		}
	}
}
