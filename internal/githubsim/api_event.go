package githubsim

import (
	"fmt"
	"time"
)

// issueEvent is a line of an issue's own history: a label put on or taken off.
// Of the other kinds GitHub has, yudai reads none.
type issueEvent struct {
	id    int64
	kind  string // labeled, unlabeled
	by    *user
	label *label
	at    time.Time
}

// note adds a line to an issue's history.
func (h *Hub) note(i *issue, kind string, by *user, l *label) {
	i.events = append(i.events, &issueEvent{id: h.id(), kind: kind, by: by, label: l, at: h.now()})
}

// listIssueEvents answers an issue's history, oldest first.
func listIssueEvents(c *call) reply {
	return list(c, c.issue.events, func(e *issueEvent) obj {
		return obj{
			"id": e.id, "node_id": nodeID("IssueEvent", e.id), "event": e.kind, "actor": c.hub.userJSON(e.by),
			"url":       fmt.Sprintf("%s/issues/events/%d", c.hub.repoAPI(c.repo), e.id),
			"commit_id": nil, "commit_url": nil, "created_at": stamp(e.at), "performed_via_github_app": nil,
			"label": obj{"name": e.label.name, "color": e.label.color},
		}
	})
}
