package githubsim

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// SetPermission gives login a role in "owner/name": admin, maintain, write,
// triage, read, or none.
func (h *Hub) SetPermission(full, login, role string) error {
	if !slices.Contains([]string{"admin", "maintain", "write", "triage", "read", "none"}, role) {
		return fmt.Errorf("set permission of %s: %q is no role", login, role)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return err
	}
	u, err := h.user(login)
	if err != nil {
		return err
	}
	r.roles[strings.ToLower(u.login)] = role
	h.signal()
	return nil
}

// HideMember makes a person's membership private: payloads say that login has
// nothing to do with the repository, whatever role it has.
func (h *Hub) HideMember(full, login string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return err
	}
	if r.hidden == nil {
		r.hidden = map[string]bool{}
	}
	r.hidden[strings.ToLower(login)] = true
	return nil
}

// SetPrivate makes a repository private or public (the default). On public
// ones everybody may read.
func (h *Hub) SetPrivate(full string, private bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return err
	}
	r.private = private
	return nil
}

// SetRules sets what GET rules/branches/{branch} answers for a branch.
func (h *Hub) SetRules(full, branch string, rules ...map[string]any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return err
	}
	r.rules[branch] = rules
	return nil
}

// Repo is a handle on a repository.
type Repo struct {
	ID            int64
	Owner, Name   string
	DefaultBranch string
	dir           string
}

// FullName is "owner/name", as the Hub's methods take it.
func (r Repo) FullName() string { return r.Owner + "/" + r.Name }

// Dir is the bare repository on disk.
func (r Repo) Dir() string { return r.dir }

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// CreateRepo makes a repository whose branch main has one commit with files
// (path to content; a content that begins with "#!" is executable). With no
// files the repository is empty. An owner without account becomes an organisation.
func (h *Hub) CreateRepo(owner, name string, files map[string]string) (Repo, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.addRepo(owner, name)
	if err != nil {
		return Repo{}, err
	}
	if err := r.git.create(); err != nil {
		return Repo{}, fmt.Errorf("create repository %s: %w", r.full(), err)
	}
	r.base = "main"
	if len(files) > 0 {
		if _, err := h.commitFiles(r, "main", "Initial commit", files); err != nil {
			return Repo{}, fmt.Errorf("create repository %s: %w", r.full(), err)
		}
	}
	return h.keepRepo(r), nil
}

// ImportRepo copies the branches and tags of a local repository, which is not
// touched. Its current branch becomes the default branch; a detached HEAD
// becomes a branch "main", or "detached-head" where that name is taken.
func (h *Hub) ImportRepo(owner, name, path string) (Repo, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.addRepo(owner, name)
	if err != nil {
		return Repo{}, err
	}
	if _, err := git(nil, nil, "clone", "-q", "--bare", "--no-hardlinks", "--", path, r.git.path); err != nil {
		return Repo{}, fmt.Errorf("import %s: %w", path, err)
	}
	if _, err := r.git.run(nil, "remote", "remove", "origin"); err != nil {
		return Repo{}, fmt.Errorf("import %s: %w", path, err)
	}
	if err := r.git.configure(); err != nil {
		return Repo{}, fmt.Errorf("import %s: %w", path, err)
	}
	if r.base, err = r.git.line("symbolic-ref", "-q", "--short", "HEAD"); err != nil {
		head, err := r.git.line("rev-parse", "HEAD")
		if err != nil {
			return Repo{}, fmt.Errorf("import %s: %w", path, err)
		}
		r.base = "main"
		if r.git.head(r.base) != "" {
			r.base = "detached-head"
		}
		if _, err := r.git.run(nil, "update-ref", "refs/heads/"+r.base, head); err != nil {
			return Repo{}, fmt.Errorf("import %s: %w", path, err)
		}
		if _, err := r.git.run(nil, "symbolic-ref", "HEAD", "refs/heads/"+r.base); err != nil {
			return Repo{}, fmt.Errorf("import %s: %w", path, err)
		}
	}
	return h.keepRepo(r), nil
}

func (h *Hub) addRepo(owner, name string) (*repo, error) {
	if !namePattern.MatchString(owner) || !namePattern.MatchString(strings.TrimPrefix(name, ".")) || strings.HasSuffix(name, ".git") {
		return nil, fmt.Errorf("create repository %s/%s: not a valid name", owner, name)
	}
	if h.repos[strings.ToLower(owner+"/"+name)] != nil {
		return nil, fmt.Errorf("create repository %s/%s: it exists", owner, name)
	}
	root, err := h.root()
	if err != nil {
		return nil, err
	}
	u := h.makeUser(owner, "Organization")
	path := filepath.Join(root, strings.ToLower(owner), strings.ToLower(name)+".git")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create repository %s/%s: %w", owner, name, err)
	}
	return &repo{
		id: h.id(), owner: u, name: name, git: gitDir{path}, roles: map[string]string{},
		issues: map[int]*issue{}, labels: map[string]*label{}, comments: map[int64]*comment{},
		checks: map[int64]*check{}, signed: map[string]bool{}, rules: map[string][]obj{},
		created: h.now(), pushed: h.now(),
	}, nil
}

func (h *Hub) keepRepo(r *repo) Repo {
	h.repos[strings.ToLower(r.full())] = r
	h.signal()
	return r.view()
}

func (r *repo) view() Repo {
	return Repo{ID: r.id, Owner: r.owner.login, Name: r.name, DefaultBranch: r.base, dir: r.git.path}
}

// Repo finds a repository.
func (h *Hub) Repo(owner, name string) (Repo, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(owner + "/" + name)
	if err != nil {
		return Repo{}, err
	}
	return r.view(), nil
}

// CommitFiles adds a commit to a branch, as a person's push does, and returns
// its SHA. The branch is made from the default branch if it is not there. An
// empty content removes the file.
func (h *Hub) CommitFiles(full, branch, message string, files map[string]string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return "", err
	}
	sha, err := h.commitFiles(r, branch, message, files)
	if err != nil {
		return "", fmt.Errorf("commit to %s: %w", full, err)
	}
	h.signal()
	return sha, nil
}

func (h *Hub) commitFiles(r *repo, branch, message string, files map[string]string) (string, error) {
	var entries []treeEntry
	for path, content := range files {
		e := treeEntry{mode: "100644", path: path}
		if content != "" {
			sha, err := r.git.blob([]byte(content))
			if err != nil {
				return "", err
			}
			e.sha = sha
		}
		if strings.HasPrefix(content, "#!") {
			e.mode = "100755"
		}
		entries = append(entries, e)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].path < entries[j].path })
	old := r.git.head(branch)
	parent := old
	if parent == "" {
		parent = r.git.head(r.base)
	}
	who := person{r.owner.login, r.owner.login + "@users.noreply.github.com", h.now()}
	c := commitInfo{author: who, committer: who, message: message + "\n"}
	if parent != "" {
		c.parents = []string{parent}
	}
	var err error
	if c.tree, err = r.git.graft(parent, entries); err != nil {
		return "", err
	}
	sha, err := r.git.write(c)
	if err != nil {
		return "", err
	}
	r.pushed = h.now()
	return sha, r.git.set("refs/heads/"+branch, sha, old)
}
