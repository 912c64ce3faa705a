package githubsim

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
)

// ErrNotFound says that a user, repository, issue or other object is not there.
var ErrNotFound = errors.New("not found")

// User is somebody with an account, a bot or an organisation.
type User struct {
	ID    int64
	Login string
	Type  string // User, Bot, Organization
}

// App is a registered GitHub App with what its owner knows of it.
type App struct {
	ID            int64
	Slug, Name    string
	PrivateKeyPEM []byte // PKCS#1, as GitHub issues keys
	WebhookSecret string
}

// AppSpec describes an app to register; only Name is needed.
type AppSpec struct {
	Name string
	// Key saves making one; tests that make many hubs share a key.
	Key *rsa.PrivateKey
	// Secret signs the webhooks; empty makes one.
	Secret string
	// Permissions are asked for at installation; nil is what yudai asks for:
	// metadata read; issues, pull_requests, contents and checks write.
	Permissions map[string]string
	// Events are subscribed; nil is issues, issue_comment, pull_request,
	// check_run and check_suite. Installation events always come.
	Events []string
	// WebhookURL is where events go; see Hub.SetWebhookURL.
	WebhookURL string
}

// CreateApp registers an app with the usual permissions and events.
func (h *Hub) CreateApp(name string) (App, error) { return h.RegisterApp(AppSpec{Name: name}) }

// RegisterApp registers an app. Its bot is the user "<slug>[bot]".
func (h *Hub) RegisterApp(spec AppSpec) (App, error) {
	if spec.Key == nil {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return App{}, fmt.Errorf("make key of app %s: %w", spec.Name, err)
		}
		spec.Key = key
	}
	if spec.Secret == "" {
		spec.Secret = randomHex(20)
	}
	if spec.Permissions == nil {
		spec.Permissions = map[string]string{
			"metadata": "read", "issues": "write", "pull_requests": "write", "contents": "write", "checks": "write",
		}
	}
	if spec.Events == nil {
		spec.Events = []string{"issues", "issue_comment", "pull_request", "check_run", "check_suite"}
	}
	slug := slugOf(spec.Name)
	if slug == "" {
		return App{}, fmt.Errorf("register app %q: the name has no letters or digits", spec.Name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.apps {
		if a.slug == slug {
			return App{}, fmt.Errorf("register app %s: the name is taken", spec.Name)
		}
	}
	a := &app{
		id: h.id(), slug: slug, name: spec.Name, owner: h.makeUser("octo-org", "Organization"),
		bot: h.makeUser(slug+"[bot]", "Bot"), key: &spec.Key.PublicKey, secret: spec.Secret,
		hookURL: spec.WebhookURL, hookID: h.id(), perms: clonePerms(spec.Permissions),
		events: slices.Clone(spec.Events), created: h.now(),
	}
	a.perms["metadata"] = "read"
	h.apps[a.id] = a
	h.signal()
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(spec.Key)}
	return App{ID: a.id, Slug: a.slug, Name: a.name, PrivateKeyPEM: pem.EncodeToMemory(block), WebhookSecret: a.secret}, nil
}

// SetWebhookURL sets where the app's events go. While it is empty, deliveries
// fail as they do when nobody listens, and stay in the log.
func (h *Hub) SetWebhookURL(app App, url string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.apps[app.ID]
	if a == nil {
		return fmt.Errorf("app %d: %w", app.ID, ErrNotFound)
	}
	a.hookURL = url
	return nil
}

// Ping sends the app a ping, as GitHub does when a webhook is set up.
func (h *Hub) Ping(app App) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.apps[app.ID]
	if a == nil {
		return fmt.Errorf("app %d: %w", app.ID, ErrNotFound)
	}
	h.enqueue(a, newGUID(), "ping", "", nil, nil, obj{
		"zen": "Keep it logically awesome.", "hook_id": a.hookID, "hook": h.hookJSON(a),
	})
	h.signal()
	return nil
}

// CreateUser makes an account; one that exists is returned as it is.
func (h *Hub) CreateUser(login string) User {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.makeUser(login, "User").view()
}

// CreateBot makes the account of a foreign bot; login should end in "[bot]".
func (h *Hub) CreateBot(login string) User {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.makeUser(login, "Bot").view()
}

func (u *user) view() User { return User{ID: u.id, Login: u.login, Type: u.kind} }

func (h *Hub) makeUser(login, kind string) *user {
	if u := h.users[strings.ToLower(login)]; u != nil {
		return u
	}
	u := &user{id: h.id(), login: login, kind: kind, created: h.now()}
	h.users[strings.ToLower(login)] = u
	return u
}

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
	if _, err := git(nil, nil, "init", "-q", "--bare", "--initial-branch=main", r.git.path); err != nil {
		return Repo{}, fmt.Errorf("create repository %s: %w", r.full(), err)
	}
	if err := r.git.configure(); err != nil {
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
// touched. Its current branch becomes the default branch.
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
		if _, err := r.git.run(nil, "update-ref", "refs/heads/main", head); err != nil {
			return Repo{}, fmt.Errorf("import %s: %w", path, err)
		}
		if _, err := r.git.run(nil, "symbolic-ref", "HEAD", "refs/heads/main"); err != nil {
			return Repo{}, fmt.Errorf("import %s: %w", path, err)
		}
	}
	return h.keepRepo(r), nil
}

func (h *Hub) addRepo(owner, name string) (*repo, error) {
	if !namePattern.MatchString(owner) || !namePattern.MatchString(name) || strings.HasSuffix(name, ".git") {
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

// Installation is an app's access to an owner's repositories.
type Installation struct{ ID int64 }

// Install installs an app for an owner, on the named repositories ("name"
// without owner) or on all of them, and sends installation.created.
func (h *Hub) Install(app App, owner string, repos ...string) (Installation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.apps[app.ID]
	if a == nil {
		return Installation{}, fmt.Errorf("app %d: %w", app.ID, ErrNotFound)
	}
	u := h.makeUser(owner, "Organization")
	for _, in := range h.installs {
		if in.app == a && in.owner == u {
			return Installation{}, fmt.Errorf("install %s for %s: it is installed", a.slug, owner)
		}
	}
	in := &installation{
		id: h.id(), app: a, owner: u, all: len(repos) == 0, repos: map[int64]bool{},
		perms: clonePerms(a.perms), created: h.now(),
	}
	for _, name := range repos {
		r, err := h.repo(owner + "/" + name)
		if err != nil {
			return Installation{}, err
		}
		in.repos[r.id] = true
	}
	h.installs[in.id] = in
	h.tell(in, "installation", "created", u, obj{"repositories": h.briefRepos(in)})
	h.signal()
	return Installation{in.id}, nil
}

// change applies f to an installation and tells the app.
func (h *Hub) change(id int64, event, action string, f func(*installation) (obj, error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	in := h.installs[id]
	if in == nil {
		return fmt.Errorf("installation %d: %w", id, ErrNotFound)
	}
	fill, err := f(in)
	if err != nil {
		return err
	}
	h.tell(in, event, action, in.owner, fill)
	h.signal()
	return nil
}

// Suspend makes every call of the installation answer 403 and sends installation.suspend.
func (h *Hub) Suspend(in Installation) error {
	return h.change(in.ID, "installation", "suspend", func(in *installation) (obj, error) {
		in.suspended, in.by = h.now(), in.owner
		return obj{"repositories": h.briefRepos(in)}, nil
	})
}

// Unsuspend ends a suspension and sends installation.unsuspend.
func (h *Hub) Unsuspend(in Installation) error {
	return h.change(in.ID, "installation", "unsuspend", func(in *installation) (obj, error) {
		in.suspended, in.by = time.Time{}, nil
		return obj{"repositories": h.briefRepos(in)}, nil
	})
}

// Uninstall deletes the installation (404 from then on), ends its tokens and
// sends installation.deleted.
func (h *Hub) Uninstall(in Installation) error {
	return h.change(in.ID, "installation", "deleted", func(in *installation) (obj, error) {
		repos := h.briefRepos(in)
		delete(h.installs, in.id)
		for text, t := range h.tokens {
			if t.inst == in {
				delete(h.tokens, text)
			}
		}
		return obj{"repositories": repos}, nil
	})
}

// Grant replaces the permissions of an installation, as when its owner accepts
// new ones, and sends installation.new_permissions_accepted. Tokens that are
// out keep their old rights.
func (h *Hub) Grant(in Installation, permissions map[string]string) error {
	return h.change(in.ID, "installation", "new_permissions_accepted", func(in *installation) (obj, error) {
		in.perms = clonePerms(permissions)
		in.perms["metadata"] = "read"
		return obj{"repositories": h.briefRepos(in)}, nil
	})
}

// AddRepos adds repositories to an installation on selected ones and sends
// installation_repositories.added.
func (h *Hub) AddRepos(in Installation, names ...string) error { return h.alterRepos(in, true, names) }

// RemoveRepos takes repositories from an installation and sends
// installation_repositories.removed.
func (h *Hub) RemoveRepos(in Installation, names ...string) error {
	return h.alterRepos(in, false, names)
}

func (h *Hub) alterRepos(in Installation, add bool, names []string) error {
	action := "removed"
	if add {
		action = "added"
	}
	return h.change(in.ID, "installation_repositories", action, func(in *installation) (obj, error) {
		brief := []obj{}
		for _, name := range names {
			r, err := h.repo(in.owner.login + "/" + name)
			if err != nil {
				return nil, err
			}
			if add {
				in.repos[r.id] = true
			} else {
				delete(in.repos, r.id)
			}
			brief = append(brief, briefRepo(r))
		}
		fill := obj{"repositories_added": []obj{}, "repositories_removed": []obj{}, "repository_selection": in.selection(), "requester": nil}
		fill["repositories_"+action] = brief
		return fill, nil
	})
}

// ExpireTokens ends every installation token now, without moving the clock.
func (h *Hub) ExpireTokens() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tokens {
		t.expires = h.now()
	}
}

func (in *installation) selection() string {
	if in.all {
		return "all"
	}
	return "selected"
}

func clonePerms(p map[string]string) map[string]string {
	out := make(map[string]string, len(p)+1)
	for k, v := range p {
		out[k] = v
	}
	return out
}

var slugPattern = regexp.MustCompile(`[^a-z0-9]+`)

func slugOf(name string) string {
	return strings.Trim(slugPattern.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func newGUID() string {
	x := randomHex(16)
	return x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-a" + x[17:20] + "-" + x[20:]
}
