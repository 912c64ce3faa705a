package githubsim

import (
	"fmt"
	"slices"
)

// act does something as a user on an issue or pull request.
func (h *Hub) act(full string, number int, as string, f func(*repo, *issue, *user) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, i, err := h.issue(full, number)
	if err != nil {
		return err
	}
	u, err := h.user(as)
	if err != nil {
		return err
	}
	defer h.signal()
	return f(r, i, u)
}

// OpenIssue opens an issue in "owner/name" as a user, with labels, and returns
// its number. It sends issues.opened, and issues.labeled for each label.
func (h *Hub) OpenIssue(full, as, title, body string, labels ...string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return 0, err
	}
	u, err := h.user(as)
	if err != nil {
		return 0, err
	}
	i := h.addIssue(r, u, title, body)
	h.issueEvent(r, i, "opened", u, nil)
	for _, name := range labels {
		h.addLabel(r, i, u, name)
	}
	h.signal()
	return i.number, nil
}

// Comment comments as a user and returns the comment's id.
func (h *Hub) Comment(full string, number int, as, body string) (int64, error) {
	var id int64
	err := h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		id = h.addComment(r, i, u, nil, body).id
		return nil
	})
	return id, err
}

// EditComment changes a comment as a user.
func (h *Hub) EditComment(full string, id int64, as, body string) error {
	return h.onComment(full, id, as, func(r *repo, m *comment, u *user) { h.changeComment(r, m, u, body) })
}

// DeleteComment removes a comment as a user.
func (h *Hub) DeleteComment(full string, id int64, as string) error {
	return h.onComment(full, id, as, func(r *repo, m *comment, u *user) { h.dropComment(r, m, u) })
}

func (h *Hub) onComment(full string, id int64, as string, f func(*repo, *comment, *user)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return err
	}
	m := r.comments[id]
	if m == nil {
		return fmt.Errorf("comment %d in %s: %w", id, full, ErrNotFound)
	}
	u, err := h.user(as)
	if err != nil {
		return err
	}
	f(r, m, u)
	h.signal()
	return nil
}

// Label puts a label on an issue as a user; the label is made if need be.
func (h *Hub) Label(full string, number int, as, label string) error {
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		h.addLabel(r, i, u, label)
		return nil
	})
}

// Unlabel takes a label off an issue as a user.
func (h *Hub) Unlabel(full string, number int, as, label string) error {
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		if !i.has(label) {
			return fmt.Errorf("label %s of %s#%d: %w", label, full, number, ErrNotFound)
		}
		h.dropLabel(r, i, u, label)
		return nil
	})
}

// React adds a reaction to an issue as a user.
func (h *Hub) React(full string, number int, as, content string) error {
	return h.act(full, number, as, func(_ *repo, i *issue, u *user) error {
		if !slices.Contains(reactionContents(), content) {
			return fmt.Errorf("react to %s#%d: %q is no reaction", full, number, content)
		}
		h.react(&i.reactions, u, content)
		return nil
	})
}

// EditIssue changes an issue's title and body as a user.
func (h *Hub) EditIssue(full string, number int, as, title, body string) error {
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		h.rewrite(r, i, u, &title, &body)
		return nil
	})
}

// CloseIssue closes an issue or pull request as a user, without merging.
func (h *Hub) CloseIssue(full string, number int, as string) error {
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		h.setState(r, i, u, "closed", "")
		return nil
	})
}

// ReopenIssue opens a closed issue or pull request again as a user.
func (h *Hub) ReopenIssue(full string, number int, as string) error {
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		h.setState(r, i, u, "open", "")
		return nil
	})
}

// DeleteIssue removes an issue as a user and sends issues.deleted.
func (h *Hub) DeleteIssue(full string, number int, as string) error {
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		r.leave(i, "")
		h.issueEvent(r, i, "deleted", u, nil)
		return nil
	})
}

// LockIssue locks or unlocks a conversation: apps get 403 when they comment on
// a locked one. No webhook is sent.
func (h *Hub) LockIssue(full string, number int, locked bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, i, err := h.issue(full, number)
	if err != nil {
		return err
	}
	i.locked = locked
	h.signal()
	return nil
}

// MergePull merges a pull request as a user and closes the issues it fixes.
func (h *Hub) MergePull(full string, number int, as string) error {
	return h.act(full, number, as, func(r *repo, i *issue, u *user) error {
		if i.pull == nil || i.state != "open" {
			return fmt.Errorf("merge %s#%d: not an open pull request", full, number)
		}
		return h.mergePull(r, i, u)
	})
}

// Press presses a button of a completed check run as a user: check_run.requested_action.
func (h *Hub) Press(full string, checkID int64, as, identifier string) error {
	return h.onCheck(full, checkID, as, func(r *repo, k *check, u *user) error {
		if k.status != "completed" || !slices.ContainsFunc(k.actions, func(a checkAction) bool { return a.Identifier == identifier }) {
			return fmt.Errorf("press %s on check run %d: there is no such button", identifier, checkID)
		}
		h.checkEvent(r, k, "requested_action", u, obj{"requested_action": obj{"identifier": identifier}})
		return nil
	})
}

// Rerequest asks for a check run again as a user: check_run.rerequested.
func (h *Hub) Rerequest(full string, checkID int64, as string) error {
	return h.onCheck(full, checkID, as, func(r *repo, k *check, u *user) error {
		h.checkEvent(r, k, "rerequested", u, nil)
		return nil
	})
}

// RerequestAll asks for a commit's checks of an app again: check_suite.rerequested.
func (h *Hub) RerequestAll(full string, checkID int64, as string) error {
	return h.onCheck(full, checkID, as, func(r *repo, k *check, u *user) error {
		h.suiteEvent(r, k.suite, "rerequested", u)
		return nil
	})
}

func (h *Hub) onCheck(full string, id int64, as string, f func(*repo, *check, *user) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.repo(full)
	if err != nil {
		return err
	}
	k := r.checks[id]
	if k == nil {
		return fmt.Errorf("check run %d in %s: %w", id, full, ErrNotFound)
	}
	u, err := h.user(as)
	if err != nil {
		return err
	}
	defer h.signal()
	return f(r, k, u)
}
