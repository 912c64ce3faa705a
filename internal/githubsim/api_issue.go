package githubsim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const bodyLimit = 65536 // characters of a comment or issue body

func getIssue(c *call) reply { return ok(c.hub.issueJSON(c.repo, c.issue)) }

func listIssues(c *call) reply {
	state, labels := c.query("state"), c.query("labels")
	if state == "" {
		state = "open"
	}
	since, _ := time.Parse(time.RFC3339, c.query("since"))
	var all []*issue
	for _, i := range c.repo.sorted() {
		fits := state == "all" || i.state == state
		for name := range strings.SplitSeq(labels, ",") {
			fits = fits && (name == "" || i.has(name))
		}
		if fits && !i.updated.Before(since) {
			all = append(all, i)
		}
	}
	if c.query("direction") != "asc" {
		slices.Reverse(all)
	}
	return list(c, all, func(i *issue) obj { return c.hub.issueJSON(c.repo, i) })
}

func editIssue(c *call) reply {
	var req struct {
		Title, Body, State *string
		StateReason        string `json:"state_reason"`
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if req.State != nil && *req.State != "open" && *req.State != "closed" {
		return invalid(flaw("Issue", "state", "invalid"))
	}
	if req.Body != nil && utf8.RuneCountInString(*req.Body) > bodyLimit {
		return invalid(tooLong("Issue"))
	}
	h := c.hub
	if req.Title != nil || req.Body != nil {
		h.rewrite(c.repo, c.issue, c.me(), req.Title, req.Body)
	}
	if req.State != nil {
		h.setState(c.repo, c.issue, c.me(), *req.State, req.StateReason)
	}
	return ok(h.issueJSON(c.repo, c.issue)).about("issue %d", c.issue.number)
}

func tooLong(resource string) obj {
	return obj{"resource": resource, "code": "unprocessable", "field": "data", "message": fmt.Sprintf("Body is too long (maximum is %d characters)", bodyLimit)}
}

// locked refuses what the app may not do on a locked conversation.
func (c *call) locked() *reply {
	if c.issue.locked {
		return refuse(http.StatusForbidden, "Unable to create comment because issue is locked.")
	}
	return nil
}

// bodyOf reads and checks the body of a comment.
func (c *call) bodyOf() (string, *reply) {
	var req struct{ Body *string }
	if bad := c.decode(&req); bad != nil {
		return "", bad
	}
	var r reply
	switch {
	case req.Body == nil:
		r = fail(http.StatusUnprocessableEntity, "Invalid request.\n\n\"body\" wasn't supplied.")
	case strings.TrimSpace(*req.Body) == "":
		r = invalid(flaw("IssueComment", "body", "missing_field"))
	case utf8.RuneCountInString(*req.Body) > bodyLimit:
		r = invalid(tooLong("IssueComment"))
	default:
		return *req.Body, nil
	}
	return "", &r
}

func createComment(c *call) reply {
	body, bad := c.bodyOf()
	if bad != nil {
		return *bad
	}
	if denied := c.locked(); denied != nil {
		return *denied
	}
	m := c.hub.addComment(c.repo, c.issue, c.me(), c.token.inst.app, body)
	c.hub.made("/repos/%s/issues/comments/%d", c.repo.full(), m.id)
	return created(fmt.Sprintf("comment %d", m.id), c.hub.commentJSON(c.repo, m)).
		with("Location", fmt.Sprintf("%s/issues/comments/%d", c.hub.repoAPI(c.repo), m.id))
}

func listComments(c *call) reply {
	since, _ := time.Parse(time.RFC3339, c.query("since"))
	var all []*comment
	for _, m := range c.issue.comments {
		if !m.updated.Truncate(time.Second).Before(since) && c.hub.visible(m.created) {
			all = append(all, m)
		}
	}
	return list(c, all, func(m *comment) obj { return c.hub.commentJSON(c.repo, m) })
}

// comment finds the comment of the path and its issue.
func (c *call) comment() *comment {
	m := c.repo.comments[c.number("comment")]
	if m != nil {
		c.issue = m.issue
	}
	return m
}

func getComment(c *call) reply {
	m := c.comment()
	if m == nil {
		return notFound()
	}
	return ok(c.hub.commentJSON(c.repo, m))
}

func editComment(c *call) reply {
	m := c.comment()
	if m == nil {
		return notFound()
	}
	body, bad := c.bodyOf()
	if bad != nil {
		return *bad
	}
	c.hub.changeComment(c.repo, m, c.me(), body)
	return ok(c.hub.commentJSON(c.repo, m)).about("comment %d", m.id)
}

func deleteComment(c *call) reply {
	m := c.comment()
	if m == nil {
		return notFound()
	}
	c.hub.dropComment(c.repo, m, c.me())
	return reply{status: http.StatusNoContent}.about("comment %d", m.id)
}

// reactions is the list the path names: a comment's or an issue's.
func (c *call) reactions() *[]*reaction {
	if c.args["comment"] == "" {
		return &c.issue.reactions
	}
	if m := c.comment(); m != nil {
		return &m.reactions
	}
	return nil
}

func listReactions(c *call) reply {
	all := c.reactions()
	if all == nil {
		return notFound()
	}
	var some []*reaction
	for _, x := range *all {
		if want := c.query("content"); want == "" || want == x.content {
			some = append(some, x)
		}
	}
	return list(c, some, c.hub.reactionJSON)
}

func createReaction(c *call) reply {
	all := c.reactions()
	if all == nil {
		return notFound()
	}
	var req struct{ Content string }
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if !slices.Contains(reactionContents(), req.Content) {
		return invalid(flaw("Reaction", "content", "invalid"))
	}
	if denied := c.locked(); denied != nil {
		return *denied
	}
	x, isNew := c.hub.react(all, c.me(), req.Content)
	out := created(fmt.Sprintf("reaction %s", req.Content), c.hub.reactionJSON(x))
	if !isNew {
		out.status = http.StatusOK
	}
	return out
}

func listLabels(c *call) reply {
	return list(c, c.issue.labels, func(l *label) obj { return c.hub.labelJSON(c.repo, l) })
}

func addLabels(c *call) reply {
	var req struct{ Labels []string }
	body := c.body
	if len(body) > 0 && body[0] == '[' { // a bare list is taken too
		c.body = append(append([]byte(`{"labels":`), body...), '}')
	}
	bad := c.decode(&req)
	c.body = body
	if bad != nil {
		return *bad
	}
	if len(req.Labels) == 0 {
		return invalid(flaw("Label", "name", "missing_field"))
	}
	for _, name := range req.Labels {
		c.hub.addLabel(c.repo, c.issue, c.me(), name)
	}
	return ok(c.hub.labelsJSON(c.repo, c.issue.labels)).about("labels of %d", c.issue.number)
}

func removeLabel(c *call) reply {
	if !c.issue.has(c.args["label"]) {
		return fail(http.StatusNotFound, "Label does not exist")
	}
	c.hub.dropLabel(c.repo, c.issue, c.me(), c.args["label"])
	return ok(c.hub.labelsJSON(c.repo, c.issue.labels)).about("labels of %d", c.issue.number)
}
