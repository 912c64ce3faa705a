package githubsim

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

type pullRequest struct {
	Title, Body, Head, Base, State *string
	Draft                          bool
}

func createPull(c *call) reply {
	var q pullRequest
	if bad := c.decode(&q); bad != nil {
		return *bad
	}
	if q.Title == nil || strings.TrimSpace(*q.Title) == "" {
		return invalid(flaw("PullRequest", "title", "missing_field"))
	}
	if q.Head == nil || q.Base == nil {
		return *wrong("\"head\" and \"base\" must be supplied.")
	}
	owner, branch, named := strings.Cut(*q.Head, ":")
	if !named {
		owner, branch = c.repo.owner.login, *q.Head
	}
	if denied := c.mayOpen(owner, branch, &q); denied != nil {
		return *denied
	}
	h := c.hub
	i := h.addIssue(c.repo, c.me(), *q.Title, "")
	if q.Body != nil {
		i.body = *q.Body
	}
	i.app = c.token.inst.app
	i.pull = &pull{id: h.id(), head: branch, base: *q.Base, draft: q.Draft}
	c.repo.shas(i)
	full, err := h.fullPull(c.repo, i)
	if err != nil {
		return broken(err)
	}
	h.issueEvent(c.repo, i, "opened", c.me(), nil)
	h.made("/repos/%s/pulls/%d", c.repo.full(), i.number)
	return created(fmt.Sprintf("pull %d", i.number), full).with("Location", fmt.Sprint(full["url"]))
}

// mayOpen checks a new pull request as GitHub does.
func (c *call) mayOpen(owner, branch string, q *pullRequest) *reply {
	git := c.repo.git
	head, base := git.head(branch), git.head(*q.Base)
	var r reply
	switch {
	case head == "" || !strings.EqualFold(owner, c.repo.owner.login):
		r = invalid(flaw("PullRequest", "head", "invalid"))
	case base == "":
		r = invalid(flaw("PullRequest", "base", "invalid"))
	case q.Draft && c.hub.opts.NoDrafts:
		r = invalid(flawText("PullRequest", "Draft pull requests are not supported in this repository."))
	case q.Body != nil && utf8.RuneCountInString(*q.Body) > bodyLimit:
		r = invalid(tooLong("PullRequest"))
	case utf8.RuneCountInString(*q.Title) > 256:
		r = invalid(flawText("PullRequest", "title is too long (maximum is 256 characters)"))
	case head == base || git.ancestor(head, base):
		r = invalid(flawText("PullRequest", fmt.Sprintf("No commits between %s and %s", *q.Base, branch)))
	case c.openPull(branch, *q.Base) != nil:
		r = invalid(flawText("PullRequest", fmt.Sprintf("A pull request already exists for %s:%s.", c.repo.owner.login, branch)))
	default:
		return nil
	}
	return &r
}

func (c *call) openPull(head, base string) *issue {
	for _, i := range c.repo.sorted() {
		if i.pull != nil && i.state == "open" && i.pull.head == head && i.pull.base == base {
			return i
		}
	}
	return nil
}

func listPulls(c *call) reply {
	state, head, base := c.query("state"), c.query("head"), c.query("base")
	if state == "" {
		state = "open"
	}
	var all []*issue
	for _, i := range c.repo.sorted() {
		switch {
		case i.pull == nil, state != "all" && i.state != state, base != "" && i.pull.base != base, !c.hub.visible(i.created):
			continue
		case strings.Contains(head, ":") && !strings.EqualFold(head, c.repo.owner.login+":"+i.pull.head):
			continue // GitHub ignores a head without owner
		}
		all = append(all, i)
	}
	if c.query("direction") != "asc" {
		slices.Reverse(all)
	}
	return list(c, all, func(i *issue) obj { return c.hub.pullJSON(c.repo, i) })
}

func getPull(c *call) reply {
	if c.issue.pull == nil {
		return notFound()
	}
	full, err := c.hub.fullPull(c.repo, c.issue)
	if err != nil {
		return broken(err)
	}
	return ok(full)
}

func editPull(c *call) reply {
	var q pullRequest
	if bad := c.decode(&q); bad != nil {
		return *bad
	}
	i := c.issue
	switch {
	case i.pull == nil:
		return notFound()
	case q.State != nil && *q.State != "open" && *q.State != "closed":
		return invalid(flaw("PullRequest", "state", "invalid"))
	case q.Base != nil && c.repo.git.head(*q.Base) == "":
		return invalid(flaw("PullRequest", "base", "invalid"))
	case q.Body != nil && utf8.RuneCountInString(*q.Body) > bodyLimit:
		return invalid(tooLong("PullRequest"))
	}
	if q.Base != nil {
		i.pull.base = *q.Base
	}
	c.hub.rewrite(c.repo, i, c.me(), q.Title, q.Body)
	if q.State != nil {
		c.hub.setState(c.repo, i, c.me(), *q.State, "")
	}
	return getPull(c).about("pull %d", i.number)
}

func listFiles(c *call) reply {
	if c.issue.pull == nil {
		return notFound()
	}
	files, err := c.repo.pullFiles(c.issue)
	if err != nil {
		return broken(err)
	}
	head, _ := c.repo.shas(c.issue)
	return list(c, files, func(f fileChange) obj { return c.hub.fileJSON(c.repo, head, f) })
}
