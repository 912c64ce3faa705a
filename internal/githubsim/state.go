package githubsim

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"
)

// obj is a JSON object being built.
type obj = map[string]any

type user struct {
	id      int64
	login   string
	kind    string // User, Bot, Organization
	created time.Time
}

type app struct {
	id         int64
	slug, name string
	owner      *user
	bot        *user
	key        *rsa.PublicKey
	secret     string
	hookURL    string
	hookID     int64
	perms      map[string]string
	events     []string
	created    time.Time

	clientID, clientSecret string
	callbacks              []string // where people who sign in are sent back to

	queue      []*delivery // waiting to be sent, in order
	sending    bool        // a sender is at work on the queue
	deliveries []*delivery // the log, oldest first
}

type installation struct {
	id        int64
	app       *app
	owner     *user
	all       bool
	repos     map[int64]bool
	perms     map[string]string
	created   time.Time
	suspended time.Time
	by        *user // who suspended it
}

// covers reports whether the installation includes r.
func (in *installation) covers(r *repo) bool {
	return in.owner == r.owner && (in.all || in.repos[r.id])
}

type token struct {
	inst    *installation
	perms   map[string]string
	repos   map[int64]bool // nil: whatever the installation covers
	expires time.Time
}

type repo struct {
	id       int64
	owner    *user
	name     string
	private  bool
	base     string // default branch
	git      gitDir
	roles    map[string]string // login to role
	hidden   map[string]bool   // logins of private members
	issues   map[int]*issue
	gone     map[int]string // deleted and transferred issues; see leave
	numbers  int
	labels   map[string]*label
	comments map[int64]*comment
	checks   map[int64]*check
	suites   []*suite
	signed   map[string]bool // commits GitHub signed
	rules    map[string][]obj
	created  time.Time
	pushed   time.Time
}

func (r *repo) full() string { return r.owner.login + "/" + r.name }

type label struct {
	id                       int64
	name, color, description string
}

type reaction struct {
	id      int64
	user    *user
	content string
	created time.Time
}

type issue struct {
	id          int64
	number      int
	title, body string
	user        *user
	app         *app // made through this app
	state       string
	reason      string
	locked      bool
	labels      []*label
	comments    []*comment
	events      []*issueEvent
	reactions   []*reaction
	pull        *pull // set when the issue is a pull request
	created     time.Time
	updated     time.Time
	closed      time.Time
}

type comment struct {
	id        int64
	issue     *issue
	body      string
	user      *user
	app       *app
	reactions []*reaction
	created   time.Time
	updated   time.Time
}

type pull struct {
	id         int64
	head, base string // branches
	headSHA    string // of a closed one; an open one follows its branch
	baseSHA    string
	draft      bool
	merged     time.Time
	mergedBy   *user
	mergeSHA   string
}

type suite struct {
	id      int64
	app     *app
	sha     string
	branch  string
	created time.Time
	updated time.Time
}

type check struct {
	id                  int64
	app                 *app
	suite               *suite
	name, sha           string
	externalID          string
	details             string
	status, conclusion  string
	started, completed  time.Time
	created             time.Time
	title, summary, txt string
	annotations         []json.RawMessage
	actions             []checkAction
}

type checkAction struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

// lookups; the caller holds the lock.

func (h *Hub) user(login string) (*user, error) {
	if u := h.users[strings.ToLower(login)]; u != nil {
		return u, nil
	}
	return nil, fmt.Errorf("user %s: %w", login, ErrNotFound)
}

func (h *Hub) repo(full string) (*repo, error) {
	if r := h.repos[strings.ToLower(full)]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("repository %s: %w", full, ErrNotFound)
}

func (h *Hub) issue(full string, number int) (*repo, *issue, error) {
	r, err := h.repo(full)
	if err != nil {
		return nil, nil, err
	}
	if i := r.issues[number]; i != nil {
		return r, i, nil
	}
	return nil, nil, fmt.Errorf("issue %s#%d: %w", full, number, ErrNotFound)
}

// sorted returns the issues (and pull requests) by number.
func (r *repo) sorted() []*issue {
	all := make([]*issue, 0, len(r.issues))
	for _, i := range r.issues {
		all = append(all, i)
	}
	sort.Slice(all, func(a, b int) bool { return all[a].number < all[b].number })
	return all
}

// runs returns the check runs, oldest first.
func (r *repo) runs() []*check {
	all := make([]*check, 0, len(r.checks))
	for _, c := range r.checks {
		all = append(all, c)
	}
	sort.Slice(all, func(a, b int) bool { return all[a].id < all[b].id })
	return all
}

// role is what a user may do: admin, maintain, write, triage, read, none.
func (r *repo) role(u *user) string {
	if u == r.owner {
		return "admin"
	}
	if role := r.roles[strings.ToLower(u.login)]; role != "" {
		return role
	}
	if r.private {
		return "none"
	}
	return "read"
}

// has reports whether the issue carries the label.
func (i *issue) has(name string) bool {
	for _, l := range i.labels {
		if strings.EqualFold(l.name, name) {
			return true
		}
	}
	return false
}
