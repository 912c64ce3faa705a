package githubsim

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
)

// The changes of state. The caller holds the lock; each sends its webhooks, and
// the app's own changes come back to it like everybody else's.

func (h *Hub) addIssue(r *repo, by *user, title, body string) *issue {
	r.numbers++
	i := &issue{
		id: h.id(), number: r.numbers, title: title, body: body, user: by, state: "open", created: h.now(), updated: h.now(),
	}
	r.issues[i.number] = i
	return i
}

func (h *Hub) issueEvent(r *repo, i *issue, action string, by *user, more obj) {
	if i.pull != nil {
		full, err := h.fullPull(r, i)
		if err != nil {
			h.opts.Log.Error().Err(err).Str(logkey.Repo, r.full()).Int(logkey.PR, i.number).Msg("pull request event lost")
			return
		}
		h.emit(r, "pull_request", action, by, merge(obj{"number": i.number, "pull_request": full}, more))
		return
	}
	h.emit(r, "issues", action, by, merge(obj{"issue": h.issueJSON(r, i)}, more))
}

func merge(a, b obj) obj {
	for k, v := range b {
		a[k] = v
	}
	return a
}

func (h *Hub) rewrite(r *repo, i *issue, by *user, title, body *string) {
	changes := obj{}
	if title != nil && *title != i.title {
		changes["title"] = obj{"from": i.title}
		i.title = *title
	}
	if body != nil && *body != i.body {
		changes["body"] = obj{"from": i.body}
		i.body = *body
	}
	if len(changes) > 0 {
		i.updated = h.now()
		h.issueEvent(r, i, "edited", by, obj{"changes": changes})
	}
}

func (h *Hub) setState(r *repo, i *issue, by *user, state, reason string) {
	if i.state == state {
		return
	}
	if i.pull != nil {
		r.shas(i)
	}
	i.state, i.updated = state, h.now()
	action := "reopened"
	i.closed, i.reason = time.Time{}, "reopened"
	if state == "closed" {
		action = "closed"
		i.closed, i.reason = i.updated, cmp.Or(reason, "completed")
	}
	if i.pull != nil {
		i.reason = ""
	}
	h.issueEvent(r, i, action, by, nil)
}

func (h *Hub) addLabel(r *repo, i *issue, by *user, name string) {
	if i.has(name) {
		return
	}
	l := r.labels[strings.ToLower(name)]
	if l == nil {
		l = &label{id: h.id(), name: name, color: "5319e7"}
		r.labels[strings.ToLower(name)] = l
	}
	i.labels = append(i.labels, l)
	h.note(i, "labeled", by, l)
	i.updated = h.now()
	h.issueEvent(r, i, "labeled", by, obj{"label": h.labelJSON(r, l)})
}

func (h *Hub) dropLabel(r *repo, i *issue, by *user, name string) {
	l := r.labels[strings.ToLower(name)]
	i.labels = slices.DeleteFunc(slices.Clone(i.labels), func(x *label) bool { return x == l })
	h.note(i, "unlabeled", by, l)
	i.updated = h.now()
	h.issueEvent(r, i, "unlabeled", by, obj{"label": h.labelJSON(r, l)})
}

func (h *Hub) commentEvent(r *repo, m *comment, action string, by *user, more obj) {
	h.emit(r, "issue_comment", action, by, merge(obj{"issue": h.issueJSON(r, m.issue), "comment": h.commentJSON(r, m)}, more))
}

func (h *Hub) addComment(r *repo, i *issue, by *user, via *app, body string) *comment {
	m := &comment{id: h.id(), issue: i, body: body, user: by, app: via, created: h.now(), updated: h.now()}
	i.comments = append(i.comments, m)
	i.updated = h.now()
	r.comments[m.id] = m
	h.commentEvent(r, m, "created", by, nil)
	return m
}

func (h *Hub) changeComment(r *repo, m *comment, by *user, body string) {
	if m.body == body {
		return
	}
	from := m.body
	m.body, m.updated = body, h.now()
	h.commentEvent(r, m, "edited", by, obj{"changes": obj{"body": obj{"from": from}}})
}

func (h *Hub) dropComment(r *repo, m *comment, by *user) {
	delete(r.comments, m.id)
	m.issue.comments = slices.DeleteFunc(slices.Clone(m.issue.comments), func(x *comment) bool { return x == m })
	h.commentEvent(r, m, "deleted", by, nil)
}

func (h *Hub) react(all *[]*reaction, by *user, content string) (x *reaction, isNew bool) {
	for _, x := range *all {
		if x.user == by && x.content == content {
			return x, false
		}
	}
	x = &reaction{id: h.id(), user: by, content: content, created: h.now()}
	*all = append(*all, x)
	return x, true
}

// closing finds the issues a pull request's text closes.
var closing = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:([\w.-]+/[\w.-]+))?#(\d+)\b`)

// merge brings a pull request's head into its base with a merge commit, and
// closes the issues its text names if the base is the default branch.
func (h *Hub) mergePull(r *repo, i *issue, by *user) error {
	head, base := r.shas(i)
	tree, err := r.git.line("merge-tree", "--write-tree", base, head)
	if err != nil {
		return fmt.Errorf("merge pull request %d: %w", i.number, err)
	}
	who := person{by.login, by.email(), h.now()}
	sha, err := r.git.write(commitInfo{
		tree: tree, parents: []string{base, head}, author: who, committer: who,
		message: fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s\n", i.number, r.owner.login, i.pull.head, i.title),
	})
	if err != nil {
		return fmt.Errorf("merge pull request %d: %w", i.number, err)
	}
	if err := r.git.set("refs/heads/"+i.pull.base, sha, base); err != nil {
		return fmt.Errorf("merge pull request %d: %w", i.number, err)
	}
	i.pull.merged, i.pull.mergedBy, i.pull.mergeSHA = h.now(), by, sha
	i.state, i.closed, i.updated = "closed", h.now(), h.now()
	h.issueEvent(r, i, "closed", by, nil)
	if i.pull.base != r.base {
		return nil
	}
	for _, m := range closing.FindAllStringSubmatch(i.title+"\n"+i.body, -1) {
		n, _ := strconv.Atoi(m[2])
		if m[1] != "" && !strings.EqualFold(m[1], r.full()) {
			continue
		}
		if other := r.issues[n]; other != nil && other.pull == nil {
			h.setState(r, other, by, "closed", "completed")
		}
	}
	return nil
}
