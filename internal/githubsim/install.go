package githubsim

import (
	"fmt"
	"time"
)

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
