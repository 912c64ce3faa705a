package githubsim

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// The pages: plain HTML to look at what happened, and forms to act as a person.

//go:embed page
var pageFiles embed.FS

// servePage answers a page, or a form sent from one.
func (h *Hub) servePage(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/-/style.css" {
		http.ServeFileFS(w, r, pageFiles, "page/style.css")
		return
	}
	if h.serveAppPage(w, r) {
		return
	}
	if r.Method == http.MethodPost {
		h.serveForm(w, r)
		return
	}
	h.mu.Lock()
	name, data, err := h.page(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	h.mu.Unlock()
	if err != nil || name == "" {
		http.NotFound(w, r)
		return
	}
	h.showPage(w, http.StatusOK, name, data, "")
}

// showPage renders a template. Forms on it lead here, and to one other origin.
func (h *Hub) showPage(w http.ResponseWriter, status int, name string, data any, elsewhere string) {
	pages, err := template.ParseFS(pageFiles, "page/*.html")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, name, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src https: data:; form-action 'self' "+elsewhere+"; base-uri 'none'")
	w.WriteHeader(status)
	w.Write(out.Bytes())
}

// page chooses the template for a path and fills its data.
func (h *Hub) page(parts []string) (string, any, error) {
	if parts[0] == "" {
		data := obj{"Title": "Repositories", "Repos": []string{}, "Repo": ""}
		var all []string
		for _, r := range h.repos {
			all = append(all, r.full())
		}
		sort.Strings(all)
		data["Repos"] = all
		return "home", data, nil
	}
	if len(parts) != 2 && len(parts) != 4 {
		return "", nil, nil
	}
	r, err := h.repo(parts[0] + "/" + parts[1])
	if err != nil {
		return "", nil, err
	}
	if len(parts) == 2 {
		data, err := h.repoPageData(r)
		return "repo", data, err
	}
	number, _ := strconv.ParseInt(parts[3], 10, 64)
	i := r.issues[int(number)]
	switch {
	case parts[2] == "runs" && r.checks[number] != nil:
		return "run", h.runPageData(r, r.checks[number]), nil
	case i == nil:
		return "", nil, ErrNotFound
	case parts[2] == "issues" && i.pull == nil:
		return "issue", h.talkData(r, i), nil
	case (parts[2] == "pull" || parts[2] == "issues") && i.pull != nil:
		data, err := h.pullPageData(r, i)
		return "pull", data, err
	}
	return "", nil, nil
}

type row struct {
	Number               int
	Title, State, Author string
	Labels               []string
}

func stateOf(i *issue) string {
	if i.pull != nil && !i.pull.merged.IsZero() {
		return "merged"
	}
	return i.state
}

func (h *Hub) repoPageData(r *repo) (obj, error) {
	var issues, pulls []row
	all := r.sorted()
	slices.Reverse(all)
	for _, i := range all {
		line := row{i.number, i.title, stateOf(i), i.user.login, i.names()}
		if i.pull != nil {
			pulls = append(pulls, line)
		} else {
			issues = append(issues, line)
		}
	}
	refs, err := r.git.refs("refs/heads/")
	if err != nil {
		return nil, err
	}
	type branch struct{ Name, SHA string }
	var branches []branch
	for _, ref := range refs {
		branches = append(branches, branch{strings.TrimPrefix(ref.name, "refs/heads/"), ref.sha[:10]})
	}
	var checks []shownCheck
	for _, k := range r.runs() {
		checks = append(checks, showCheck(k))
	}
	slices.Reverse(checks)
	return obj{
		"Title": r.full(), "Repo": r.full(), "Default": r.base, "Issues": issues, "Pulls": pulls, "Checks": checks, "Branches": branches,
	}, nil
}

type author struct {
	Name string
	Bot  bool
}

type entry struct {
	Anchor    string
	Author    author
	When      string
	HTML      template.HTML
	Reactions []tally
}

type tally struct {
	Sign, Who string
	Count     int
}

func (h *Hub) showPost(anchor string, u *user, when, body string, all []*reaction) entry {
	signs := map[string]string{
		"+1": "👍", "-1": "👎", "laugh": "😄", "hooray": "🎉", "confused": "😕", "heart": "❤️", "rocket": "🚀", "eyes": "👀",
	}
	p := entry{Anchor: anchor, Author: author{u.login, u.kind == "Bot"}, When: when, HTML: markdown(body)}
	for _, content := range reactionContents() {
		var who []string
		for _, x := range all {
			if x.content == content {
				who = append(who, x.user.login)
			}
		}
		if len(who) > 0 {
			p.Reactions = append(p.Reactions, tally{signs[content], strings.Join(who, ", "), len(who)})
		}
	}
	return p
}

const pageTime = "2 Jan 2006 15:04:05"

// talkData is a conversation: the issue's text, its comments and the form.
func (h *Hub) talkData(r *repo, i *issue) obj {
	posts := []entry{h.showPost("top", i.user, i.created.Format(pageTime), i.body, i.reactions)}
	for _, m := range i.comments {
		posts = append(posts, h.showPost(fmt.Sprintf("issuecomment-%d", m.id), m.user, m.created.Format(pageTime), m.body, m.reactions))
	}
	var known []string
	for _, l := range r.labels {
		known = append(known, l.name)
	}
	sort.Strings(known)
	return obj{
		"Title": fmt.Sprintf("%s #%d", i.title, i.number), "Repo": r.full(), "Subject": i.title, "Number": i.number,
		"State": stateOf(i), "Author": i.user.login, "Labels": i.names(), "Posts": posts, "People": h.people(r), "Known": known,
	}
}

// people are the users a form may act as, those with more rights first.
func (h *Hub) people(r *repo) []string {
	var all []*user
	for _, u := range h.users {
		if u.kind == "User" {
			all = append(all, u)
		}
	}
	order := []string{"admin", "maintain", "write", "triage", "read", "none"}
	slices.SortFunc(all, func(a, b *user) int {
		return cmp.Or(cmp.Compare(slices.Index(order, r.role(a)), slices.Index(order, r.role(b))), cmp.Compare(a.login, b.login))
	})
	var out []string
	for _, u := range all {
		out = append(out, u.login)
	}
	return out
}

type shownCheck struct {
	ID                  int64
	Name, Title, Result string
	Summary, Text       template.HTML
	Open                bool
}

func showCheck(k *check) shownCheck {
	return shownCheck{
		ID: k.id, Name: k.name, Title: k.title, Result: cmp.Or(k.conclusion, k.status), Summary: markdown(k.summary), Text: markdown(k.txt),
	}
}

func (h *Hub) runPageData(r *repo, k *check) obj {
	shown := showCheck(k)
	shown.Open = true
	data := obj{"Title": k.name, "Repo": r.full(), "Check": shown, "SHA": k.sha, "Buttons": k.actions, "People": h.people(r)}
	if k.status != "completed" {
		data["Buttons"] = nil
	}
	return data
}

type shownFile struct {
	Path, OldPath  string
	Added, Deleted int
	Lines          []diffLine
}

type diffLine struct{ Kind, Text string }

func (h *Hub) pullPageData(r *repo, i *issue) (obj, error) {
	files, err := r.pullFiles(i)
	if err != nil {
		return nil, err
	}
	var shown []shownFile
	for _, f := range files {
		s := shownFile{f.path, f.old, f.added, f.deleted, nil}
		for line := range strings.SplitSeq(f.patch, "\n") {
			kind := map[string]string{"+": "add", "-": "del", "@": "hunk"}[line[:min(1, len(line))]]
			s.Lines = append(s.Lines, diffLine{kind, cmp.Or(line, " ")})
		}
		shown = append(shown, s)
	}
	head, _ := r.shas(i)
	var checks []shownCheck
	for _, k := range r.runs() {
		if k.sha == head {
			c := showCheck(k)
			c.Open = len(checks) == 0
			checks = append(checks, c)
		}
	}
	data := h.talkData(r, i)
	posts, _ := data["Posts"].([]entry)
	rest := merge(obj{}, data)
	rest["Posts"] = posts[1:]
	return merge(data, obj{"Head": i.pull.head, "Base": i.pull.base, "Files": shown, "Checks": checks, "Rest": rest}), nil
}

// serveForm does what a person asks on a page, and shows the page again.
func (h *Hub) serveForm(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 4 {
		http.NotFound(w, r)
		return
	}
	full, as := parts[0]+"/"+parts[1], r.PostFormValue("as")
	number, err := strconv.Atoi(parts[3])
	if err != nil {
		http.NotFound(w, r)
		return
	}
	body, label := strings.ReplaceAll(r.PostFormValue("body"), "\r\n", "\n"), strings.TrimSpace(r.PostFormValue("label"))
	switch do := r.PostFormValue("do"); {
	case parts[2] == "runs":
		err = h.Press(full, int64(number), as, r.PostFormValue("press"))
	case do == "comment" && strings.TrimSpace(body) != "":
		_, err = h.Comment(full, number, as, body)
	case do == "label" && label != "":
		err = h.Label(full, number, as, label)
	case do == "unlabel" && label != "":
		err = h.Unlabel(full, number, as, label)
	case do == "close":
		err = h.CloseIssue(full, number, as)
	case do == "reopen":
		err = h.ReopenIssue(full, number, as)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
}
