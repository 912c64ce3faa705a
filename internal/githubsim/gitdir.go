package githubsim

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// gitDir is one bare repository.
type gitDir struct{ path string }

// gitEnv is the whole environment of the git program: nothing of the host's
// settings, hooks or credentials.
func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
}

func git(env []string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append(gitEnv(), env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

func (g gitDir) run(stdin []byte, args ...string) ([]byte, error) {
	return git([]string{"GIT_DIR=" + g.path}, stdin, args...)
}

func (g gitDir) line(args ...string) (string, error) {
	out, err := g.run(nil, args...)
	return strings.TrimSpace(string(out)), err
}

// configure makes a bare repository serve fetches and pushes as GitHub does.
func (g gitDir) configure() error {
	for _, kv := range [][2]string{
		{"http.receivepack", "true"}, {"uploadpack.allowFilter", "true"},
		{"uploadpack.allowReachableSHA1InWant", "true"}, {"uploadpack.allowTipSHA1InWant", "true"},
		{"gc.auto", "0"}, {"core.logAllRefUpdates", "false"},
	} {
		if _, err := g.run(nil, "config", kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// shaPattern is a full object name.
var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// kind is the type of an object, or "" when it does not exist.
func (g gitDir) kind(sha string) string {
	if !shaPattern.MatchString(sha) {
		return ""
	}
	kind, err := g.line("cat-file", "-t", sha)
	if err != nil {
		return ""
	}
	return kind
}

// ref is the commit a full reference name points at, or "".
func (g gitDir) ref(name string) string {
	if name == "" || strings.HasPrefix(name, "-") {
		return ""
	}
	sha, err := g.line("show-ref", "--verify", "-s", name)
	if err != nil {
		return ""
	}
	return sha
}

func (g gitDir) head(branch string) string { return g.ref("refs/heads/" + branch) }

// commit resolves what people write for a commit: a SHA, a branch, a tag, or
// heads/x and tags/x. It returns "" when there is none.
func (g gitDir) commit(name string) string {
	if shaPattern.MatchString(name) {
		if g.kind(name) == "commit" {
			return name
		}
		return ""
	}
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/", ""} {
		if prefix == "" && !strings.HasPrefix(name, "refs/") {
			continue
		}
		if sha := g.ref(prefix + name); sha != "" {
			peeled, err := g.line("rev-parse", "--verify", "-q", sha+"^{commit}")
			if err != nil {
				return ""
			}
			return peeled
		}
	}
	return ""
}

type gitRef struct{ name, sha, kind string }

// refs lists references that begin with prefix.
func (g gitDir) refs(prefix string) ([]gitRef, error) {
	out, err := g.run(nil, "for-each-ref", "--format=%(objectname) %(objecttype) %(refname)")
	if err != nil {
		return nil, err
	}
	var all []gitRef
	for line := range strings.Lines(string(out)) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(parts) == 3 && strings.HasPrefix(parts[2], prefix) {
			all = append(all, gitRef{parts[2], parts[0], parts[1]})
		}
	}
	return all, nil
}

type person struct {
	name, email string
	date        time.Time
}

func (p person) String() string {
	_, offset := p.date.Zone()
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	clean := strings.NewReplacer("<", "", ">", "", "\n", "")
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", clean.Replace(p.name), clean.Replace(p.email), p.date.Unix(), sign, offset/3600, offset%3600/60)
}

type commitInfo struct {
	sha, tree         string
	parents           []string
	author, committer person
	message           string
}

var personPattern = regexp.MustCompile(`^(.*) <(.*)> (\d+) ([+-])(\d\d)(\d\d)$`)

func parsePerson(s string) person {
	m := personPattern.FindStringSubmatch(s)
	if m == nil {
		return person{name: s}
	}
	unix, _ := strconv.ParseInt(m[3], 10, 64)
	return person{m[1], m[2], time.Unix(unix, 0).UTC()}
}

// info reads a commit.
func (g gitDir) info(sha string) (commitInfo, error) {
	out, err := g.run(nil, "cat-file", "commit", sha)
	if err != nil {
		return commitInfo{}, err
	}
	c := commitInfo{sha: sha}
	head, message, _ := strings.Cut(string(out), "\n\n")
	c.message = strings.TrimSuffix(message, "\n")
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "author":
			c.author = parsePerson(value)
		case "committer":
			c.committer = parsePerson(value)
		}
	}
	return c, nil
}

// write stores a commit object.
func (g gitDir) write(c commitInfo) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", c.tree)
	for _, p := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", c.author, c.committer, c.message)
	out, err := g.run([]byte(b.String()), "hash-object", "-t", "commit", "-w", "--stdin")
	return strings.TrimSpace(string(out)), err
}

func (g gitDir) blob(content []byte) (string, error) {
	out, err := g.run(content, "hash-object", "-w", "--stdin")
	return strings.TrimSpace(string(out)), err
}

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
	defer os.RemoveAll(dir)
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
	sha, err := g.line("merge-base", a, b)
	if err != nil {
		return ""
	}
	return sha
}

// log lists the commits that are in b but not in a, oldest first.
func (g gitDir) log(a, b string) ([]string, error) {
	out, err := g.line("rev-list", "--reverse", "--topo-order", b, "^"+a)
	if err != nil {
		return nil, err
	}
	return strings.Fields(out), nil
}

type fileChange struct {
	path, old, status, sha string
	added, deleted         int
	patch                  string
}

// changes is what differs between two commits or trees, with patches.
func (g gitDir) changes(a, b string) ([]fileChange, error) {
	out, err := g.run(nil, "diff-tree", "-r", "-M", "-z", "--raw", "--abbrev=40", a, b)
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
		patch, err := g.run(nil, args...)
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
