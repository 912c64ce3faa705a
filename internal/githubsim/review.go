package githubsim

import (
	"fmt"
	"slices"
)

// Review reviews a pull request as a user: approved, changes_requested or commented.
// It sends pull_request_review.submitted; the review itself is not kept.
func (h *Hub) Review(full string, number int, as, state, body string) error {
	if !slices.Contains([]string{"approved", "changes_requested", "commented"}, state) {
		return fmt.Errorf("review %s#%d: %q is no review", full, number, state)
	}
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		if i.pull == nil {
			return fmt.Errorf("review %s#%d: it is no pull request", full, number)
		}
		id := h.id()
		head, _ := r.shas(i)
		page := fmt.Sprintf("%s#pullrequestreview-%d", h.issuePage(r, i), id)
		api := fmt.Sprintf("%s/pulls/%d", h.repoAPI(r), i.number)
		h.emit(r, "pull_request_review", "submitted", u, obj{
			"pull_request": h.pullJSON(r, i),
			"review": obj{
				"id": id, "node_id": nodeID("PullRequestReview", id), "user": h.userJSON(u), "state": state, "body": orNull(body),
				"commit_id": head, "submitted_at": stamp(h.now()), "author_association": association(r, u),
				"html_url": page, "pull_request_url": api,
				"_links": obj{"html": obj{"href": page}, "pull_request": obj{"href": api}},
			},
		})
		return nil
	})
}
