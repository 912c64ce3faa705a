package githubsim

import (
	"fmt"
	"net/http"
	"strings"
)

// missing answers for an issue that is not there: 410 for a deleted one where GitHub
// documents it, 301 to the place of a transferred one, 404 else.
func (c *call) missing() *reply {
	number := int(c.number("issue"))
	to, known := c.repo.gone[number]
	switch {
	case known && to == "" && c.args["comment"] == "" && !strings.HasSuffix(c.req.URL.Path, "/reactions"):
		return refuse(http.StatusGone, "This issue was deleted")
	case known && to != "":
		r := fail(http.StatusMovedPermanently, "Moved Permanently").with("Location", to)
		return &r
	}
	return refuse(http.StatusNotFound, "Not Found")
}

// leave notes that an issue is not here any more; to is its new address, "" if it
// has none.
func (r *repo) leave(i *issue, to string) {
	delete(r.issues, i.number)
	for _, m := range i.comments {
		delete(r.comments, m.id)
	}
	if r.gone == nil {
		r.gone = map[int]string{}
	}
	r.gone[i.number] = to
}

// TransferIssue moves an issue to another repository, as a person can, and returns
// its number there. It sends issues.transferred. The old address sends callers to
// the new one: an app that is not installed there finds nothing.
func (h *Hub) TransferIssue(full string, number int, as, to string) (int, error) {
	var there int
	err := h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		target, err := h.repo(to)
		if err != nil {
			return err
		}
		if i.pull != nil {
			return fmt.Errorf("transfer %s#%d: a pull request stays where it is", full, number)
		}
		h.issueEvent(r, i, "transferred", u, nil)
		target.numbers++
		there = target.numbers
		r.leave(i, fmt.Sprintf("%s/issues/%d", h.repoAPI(target), there))
		i.number = there
		target.issues[there] = i
		for _, m := range i.comments {
			target.comments[m.id] = m
		}
		return nil
	})
	return there, err
}
