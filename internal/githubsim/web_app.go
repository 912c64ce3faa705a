package githubsim

import (
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"
)

// The pages on which a person registers an App from a manifest and installs it.

// serveAppPage answers those pages and says whether it was one of them.
func (h *Hub) serveAppPage(w http.ResponseWriter, r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	at := func(pattern string) bool {
		_, fits := fit(strings.Split(pattern, "/"), parts)
		return fits
	}
	switch {
	case at("settings/apps/new"):
		h.serveRegister(w, r, "")
	case at("organizations/{org}/settings/apps/new"):
		h.serveRegister(w, r, parts[1])
	case at("apps/{slug}/installations/new"), at("github-apps/{slug}/installations/new"):
		h.serveInstall(w, r, parts[1])
	case at("settings/installations/{id}") && r.Method == http.MethodGet:
		h.serveInstalled(w, r, parts[2])
	case at("login/oauth/authorize"):
		h.serveAuthorize(w, r)
	case at("login/oauth/access_token") && r.Method == http.MethodPost:
		h.serveExchange(w, r)
	default:
		return false
	}
	return true
}

// serveRegister takes the form that another site's page posted, shows the name,
// and registers the App when the person agrees.
func (h *Hub) serveRegister(w http.ResponseWriter, r *http.Request, org string) {
	if r.Method != http.MethodPost {
		http.Error(w, "post a manifest here", http.StatusMethodNotAllowed)
		return
	}
	m, flaws := readManifest(r.PostFormValue("manifest"), isLocal(h.URL()))
	owner := org
	if org == "" {
		owner = r.PostFormValue("owner")
	}
	data := obj{
		"Title": "Register new GitHub App", "Repo": "", "Org": org, "People": h.accounts("User"), "Flaws": flaws, "Name": m.Name,
		"Manifest": r.PostFormValue("manifest"), "Permissions": m.Permissions, "Events": m.Events, "Hook": m.Hook,
	}
	if len(flaws) > 0 {
		h.showPage(w, http.StatusUnprocessableEntity, "refused", data, "")
		return
	}
	if r.PostFormValue("do") == "create" {
		to, err := h.create(r, m, owner)
		if err == nil {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		data["Name"], data["Flaw"] = r.PostFormValue("name"), err.Error()
	}
	h.showPage(w, http.StatusOK, "register", data, m.origin())
}

// create registers the App under the name the person left in the field.
func (h *Hub) create(r *http.Request, m manifest, owner string) (to string, err error) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return "", err
	}
	m.Name = strings.TrimSpace(r.PostFormValue("name"))
	code, err := h.registerFrom(m, owner)
	if err != nil {
		return "", err
	}
	return m.answerTo(code, r.URL.Query().Get("state"))
}

// serveInstall lets a person choose an account and repositories.
func (h *Hub) serveInstall(w http.ResponseWriter, r *http.Request, slug string) {
	h.mu.Lock()
	var found App
	for _, a := range h.apps {
		if a.slug == slug {
			found = App{ID: a.id, Slug: a.slug, Name: a.name}
		}
	}
	var repos []string
	for _, x := range h.repos {
		repos = append(repos, x.full())
	}
	h.mu.Unlock()
	if found.ID == 0 {
		http.NotFound(w, r)
		return
	}
	sort.Strings(repos)
	data := obj{"Title": "Install " + found.Name, "Repo": "", "App": found, "Repos": repos}
	if r.Method == http.MethodPost {
		to, err := h.installChosen(r, found)
		if err == nil {
			http.Redirect(w, r, to, http.StatusSeeOther)
			return
		}
		data["Flaw"] = err.Error()
	}
	h.showPage(w, http.StatusOK, "install", data, "")
}

// installChosen installs on the ticked repositories; they have one owner.
func (h *Hub) installChosen(r *http.Request, found App) (to string, err error) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return "", err
	}
	if err := r.ParseForm(); err != nil {
		return "", err
	}
	owner, names := "", []string{}
	for _, full := range r.PostForm["repo"] {
		o, name, _ := strings.Cut(full, "/")
		if owner != "" && o != owner {
			return "", fmt.Errorf("choose repositories of one owner, not of %s and %s", owner, o)
		}
		owner, names = o, append(names, name)
	}
	if owner == "" {
		return "", fmt.Errorf("choose a repository")
	}
	in, err := h.Install(found, owner, names...)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("/settings/installations/%d", in.ID), nil
}

func (h *Hub) serveInstalled(w http.ResponseWriter, r *http.Request, id string) {
	n, _ := strconv.ParseInt(id, 10, 64)
	h.mu.Lock()
	in := h.installs[n]
	data := obj{}
	if in != nil {
		names := []string{}
		for _, x := range h.repos {
			if in.covers(x) {
				names = append(names, x.full())
			}
		}
		sort.Strings(names)
		data = obj{"Title": in.app.name + " is installed", "Repo": "", "Repos": names}
	}
	h.mu.Unlock()
	if in == nil {
		http.NotFound(w, r)
		return
	}
	h.showPage(w, http.StatusOK, "installed", data, "")
}

// accounts lists the people, by name.
func (h *Hub) accounts(kind string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, u := range h.users {
		if u.kind == kind {
			out = append(out, u.login)
		}
	}
	sort.Strings(out)
	return out
}
