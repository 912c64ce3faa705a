package githubsim

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
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
	cmd := exec.Command("git", args...) //nolint:noctx // a local command of milliseconds
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

// answers are those of [gitDir.pure], by arguments.
var answers sync.Map

// pure runs a command whose answer follows from the objects that its arguments name. Git is
// asked once, whatever the repository: an object's name is a hash of its content.
func (g gitDir) pure(args ...string) ([]byte, error) {
	key := strings.Join(args, "\x00")
	if out, known := answers.Load(key); known {
		return out.([]byte), nil //nolint:forcetypeassert // nothing else is stored
	}
	out, err := g.run(nil, args...)
	if err == nil && onlyObjects(args[1:]) {
		answers.Store(key, out)
	}
	return out, err
}

// onlyObjects says whether all revisions among the arguments are names of objects.
func onlyObjects(args []string) bool {
	for _, a := range args {
		switch {
		case a == "--":
			return true
		case !strings.HasPrefix(a, "-") && !shaPattern.MatchString(a):
			return false
		}
	}
	return true
}

func (g gitDir) line(args ...string) (string, error) {
	out, err := g.run(nil, args...)
	return strings.TrimSpace(string(out)), err
}

// served is added to a bare repository's configuration.
const served = `[http]
	receivepack = true
[uploadpack]
	allowFilter = true
	allowReachableSHA1InWant = true
	allowTipSHA1InWant = true
[gc]
	auto = 0
[core]
	logAllRefUpdates = false
`

// create makes an empty bare repository, as git init does, and configures it.
func (g gitDir) create() error {
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(g.path, dir), 0o755); err != nil {
			return fmt.Errorf("make repository: %w", err)
		}
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/main\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
	} {
		if err := os.WriteFile(filepath.Join(g.path, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("make repository: %w", err)
		}
	}
	return g.configure()
}

// configure makes a bare repository serve fetches and pushes as GitHub does.
func (g gitDir) configure() error {
	f, err := os.OpenFile(filepath.Join(g.path, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open configuration: %w", err)
	}
	_, err = f.WriteString(served)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(g.path, "hooks"), 0o755); err != nil {
		return fmt.Errorf("make hooks directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(g.path, "hooks", "pre-receive"), []byte(preReceive), 0o755); err != nil {
		return fmt.Errorf("write pre-receive hook: %w", err)
	}
	return nil
}

// workflowsEnv is set for a push whose token may write workflows.
const workflowsEnv = "GITHUBSIM_WORKFLOWS=1"

// preReceive refuses pushes that change workflow files without the right.
const preReceive = `#!/bin/sh
test -n "$GITHUBSIM_WORKFLOWS" && exit 0
while read -r old new ref; do
	case $new in *[!0]*) ;; *) continue ;; esac
	file=$(git log -m --format= --name-only "$new" --not --branches -- .github/workflows | head -n 1)
	if test -n "$file"; then
		echo "refusing to allow a GitHub App to create or update workflow '$file' without 'workflows' permission" >&2
		exit 1
	fi
done
`

// shaPattern is a full object name.
var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// kind is the type of an object, or "" when it does not exist.
func (g gitDir) kind(sha string) string {
	if !shaPattern.MatchString(sha) {
		return ""
	}
	if kind, _, known := g.looseObject(sha); known {
		return kind
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
	if sha, known := g.looseRef(name); known {
		return sha
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
	if all, known := g.looseRefs(prefix); known {
		return all, nil
	}
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
	signature         string // armored; "" is none
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
	kind, out, known := g.looseObject(sha)
	if !known || kind != "commit" {
		var err error
		if out, err = g.run(nil, "cat-file", "commit", sha); err != nil {
			return commitInfo{}, err
		}
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
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.author, c.committer)
	if c.signature != "" {
		fmt.Fprintf(&b, "gpgsig %s\n", strings.ReplaceAll(strings.TrimSuffix(c.signature, "\n"), "\n", "\n "))
	}
	fmt.Fprintf(&b, "\n%s", c.message)
	return g.writeObject("commit", []byte(b.String()))
}

func (g gitDir) blob(content []byte) (string, error) { return g.writeObject("blob", content) }
