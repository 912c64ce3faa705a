package githubsim

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Issue is a snapshot of an issue or pull request's conversation.
type Issue struct {
	Number      int
	Title, Body string
	Author      string
	State       string // open, closed
	Locked      bool
	Pull        bool
	Labels      []string
	Reactions   []Reaction
	Comments    []Comment
	Created     time.Time
}

// Comment is a snapshot of a comment.
type Comment struct {
	ID               int64
	Author, Body     string
	Reactions        []Reaction
	Created, Updated time.Time
}

// Reaction is one person's reaction.
type Reaction struct{ Author, Content string }

// Pull is a snapshot of a pull request.
type Pull struct {
	Number           int
	Title, Body      string
	Author           string
	State            string // open, closed
	Draft, Merged    bool
	Head, Base       string // branches
	HeadSHA, BaseSHA string
	Files            []File
	Labels           []string
}

// File is what a pull request does to one file; Patch is in unified format
// without headers, and empty for binary files.
type File struct {
	Path, OldPath, Status string
	Added, Deleted        int
	Patch                 string
}

// Check is a snapshot of a check run.
type Check struct {
	ID                   int64
	App                  string // slug
	Name, SHA            string
	ExternalID, Details  string
	Status, Conclusion   string
	Title, Summary, Text string
	Buttons              []string // identifiers of its actions
	Annotations          []json.RawMessage
	Started, Completed   time.Time
}

// Delivery is a line of the delivery log, or an event still on its way (not Done).
type Delivery struct {
	ID            int64
	GUID          string
	Event, Action string
	Redelivery    bool
	Done          bool
	Status        int // of the answer; 502 when nobody answered
	At            time.Time
	Payload       []byte
}

func viewReactions(all []*reaction) []Reaction {
	var out []Reaction
	for _, x := range all {
		out = append(out, Reaction{x.user.login, x.content})
	}
	return out
}

func (m *comment) view() Comment {
	return Comment{
		ID: m.id, Author: m.user.login, Body: m.body, Reactions: viewReactions(m.reactions), Created: m.created, Updated: m.updated,
	}
}

func (i *issue) names() []string {
	var out []string
	for _, l := range i.labels {
		out = append(out, l.name)
	}
	return out
}

func (i *issue) view() Issue {
	out := Issue{
		Number: i.number, Title: i.title, Body: i.body, Author: i.user.login, State: i.state, Locked: i.locked,
		Pull: i.pull != nil, Labels: i.names(), Reactions: viewReactions(i.reactions), Created: i.created,
	}
	for _, m := range i.comments {
		out.Comments = append(out.Comments, m.view())
	}
	return out
}

func (r *repo) viewPull(i *issue) (Pull, error) {
	head, base := r.shas(i)
	out := Pull{
		Number: i.number, Title: i.title, Body: i.body, Author: i.user.login, State: i.state, Draft: i.pull.draft,
		Merged: !i.pull.merged.IsZero(), Head: i.pull.head, Base: i.pull.base, HeadSHA: head, BaseSHA: base, Labels: i.names(),
	}
	files, err := r.pullFiles(i)
	for _, f := range files {
		out.Files = append(out.Files, File{f.path, f.old, f.status, f.added, f.deleted, f.patch})
	}
	return out, err
}

func (k *check) view() Check {
	out := Check{
		ID: k.id, App: k.app.slug, Name: k.name, SHA: k.sha, ExternalID: k.externalID, Details: k.details, Status: k.status,
		Conclusion: k.conclusion, Title: k.title, Summary: k.summary, Text: k.txt, Annotations: slices.Clone(k.annotations),
		Started: k.started, Completed: k.completed,
	}
	for _, a := range k.actions {
		out.Buttons = append(out.Buttons, a.Identifier)
	}
	return out
}

// Issue reads an issue or the conversation of a pull request.
func (h *Hub) Issue(full string, number int) (Issue, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, i, err := h.issue(full, number)
	if err != nil {
		return Issue{}, err
	}
	return i.view(), nil
}

// Issues lists the issues and pull requests of a repository by number.
func (h *Hub) Issues(full string) ([]Issue, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return nil, err
	}
	var out []Issue
	for _, i := range r.sorted() {
		out = append(out, i.view())
	}
	return out, nil
}

// Pulls lists the pull requests of a repository by number, closed ones too.
func (h *Hub) Pulls(full string) ([]Pull, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return nil, err
	}
	var out []Pull
	for _, i := range r.sorted() {
		if i.pull == nil {
			continue
		}
		p, err := r.viewPull(i)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Checks lists the check runs of a repository, oldest first.
func (h *Hub) Checks(full string) ([]Check, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return nil, err
	}
	var out []Check
	for _, k := range r.runs() {
		out = append(out, k.view())
	}
	return out, nil
}

// Branches maps the branches of a repository to their commits.
func (h *Hub) Branches(full string) (map[string]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return nil, err
	}
	const prefix = "refs/heads/"
	all, err := r.git.refs(prefix)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, ref := range all {
		out[ref.name[len(prefix):]] = ref.sha
	}
	return out, nil
}

// Deliveries is the app's delivery log, oldest first, with what is still on its way.
func (h *Hub) Deliveries(app App) []Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Delivery
	if a := h.apps[app.ID]; a != nil {
		for _, d := range a.deliveries {
			out = append(out, Delivery{d.id, d.guid, d.event, d.action, d.again, d.done, d.code, d.at, d.payload})
		}
	}
	return out
}

// Await returns when done says so, looking after every change, or with ctx's
// error. Done may call the hub's methods.
func (h *Hub) Await(ctx context.Context, done func() bool) error {
	for {
		h.mu.Lock()
		changed := h.changed
		h.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// AwaitIdle waits until no request is being answered and no webhook is on its way.
func (h *Hub) AwaitIdle(ctx context.Context) error {
	return h.Await(ctx, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, a := range h.apps {
			if a.sending {
				return false
			}
		}
		return h.flying == 0
	})
}

// AwaitComment waits for a comment on an issue that match accepts.
func (h *Hub) AwaitComment(ctx context.Context, full string, number int, match func(Comment) bool) (Comment, error) {
	return await(ctx, h, match, func() ([]Comment, error) {
		i, err := h.Issue(full, number)
		return i.Comments, err
	})
}

// AwaitPull waits for a pull request that match accepts.
func (h *Hub) AwaitPull(ctx context.Context, full string, match func(Pull) bool) (Pull, error) {
	return await(ctx, h, match, func() ([]Pull, error) { return h.Pulls(full) })
}

// AwaitCheck waits for a check run that match accepts.
func (h *Hub) AwaitCheck(ctx context.Context, full string, match func(Check) bool) (Check, error) {
	return await(ctx, h, match, func() ([]Check, error) { return h.Checks(full) })
}

func await[T any](ctx context.Context, h *Hub, match func(T) bool, all func() ([]T, error)) (found T, err error) {
	waited := h.Await(ctx, func() bool {
		var list []T
		if list, err = all(); err != nil {
			return true
		}
		at := slices.IndexFunc(list, match)
		if at >= 0 {
			found = list[at]
		}
		return at >= 0
	})
	if err != nil {
		return found, err
	}
	return found, waited
}
