package githubsim

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

func (c *call) refJSON(name, sha, kind string) obj {
	api := c.hub.repoAPI(c.repo) + "/git/"
	return obj{
		"ref": name, "node_id": nodeID(name, 0), "url": api + name,
		"object": obj{"type": kind, "sha": sha, "url": api + kind + "s/" + sha},
	}
}

func getRef(c *call) reply {
	name := "refs/" + c.args["ref"]
	sha := c.repo.git.ref(name)
	if sha == "" {
		if bad := c.withoutCommits(); bad != nil {
			return *bad
		}
		return notFound()
	}
	return ok(c.refJSON(name, sha, c.repo.git.kind(sha)))
}

// withoutCommits is GitHub's answer for a repository that has no branch yet.
func (c *call) withoutCommits() *reply {
	all, err := c.repo.git.refs("refs/heads/")
	var bad reply
	switch {
	case err != nil:
		bad = broken(err)
	case len(all) == 0:
		bad = fail(http.StatusConflict, "Git Repository is empty.")
	default:
		return nil
	}
	return &bad
}

func matchingRefs(c *call) reply {
	all, err := c.repo.git.refs("refs/" + c.args["ref"])
	if err != nil {
		return broken(err)
	}
	return list(c, all, func(r gitRef) obj { return c.refJSON(r.name, r.sha, r.kind) })
}

// checkedRef validates a reference name and the object it is to point at.
func (c *call) checkedRef(name, sha string) *reply {
	kind := c.repo.git.kind(sha)
	switch {
	case kind == "":
		return refuse(http.StatusUnprocessableEntity, "Object does not exist")
	case strings.HasPrefix(name, "refs/heads/") && kind != "commit":
		return refuse(http.StatusUnprocessableEntity, "Object is not a commit")
	}
	if !c.repo.git.validRef(name) {
		return refuse(http.StatusUnprocessableEntity, name+" is not a valid ref name.")
	}
	if c.token.may([]string{"workflows:write"}) || kind != "commit" {
		return nil
	}
	file, err := c.repo.touchesWorkflow(sha)
	if err != nil {
		r := broken(err)
		return &r
	}
	if file != "" {
		return refuse(http.StatusForbidden, "refusing to allow a GitHub App to create or update workflow `"+file+"` without `workflows` permission")
	}
	return nil
}

// touchesWorkflow names a workflow file that is changed on the way from the
// branches there are to sha, or "".
func (r *repo) touchesWorkflow(sha string) (string, error) {
	out, err := r.git.run(nil, "log", "-m", "--format=", "--name-only", sha, "--not", "--branches", "--", ".github/workflows")
	if err != nil {
		return "", err
	}
	file, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return file, nil
}

func createRef(c *call) reply {
	var req struct{ Ref, SHA string }
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if !strings.HasPrefix(req.Ref, "refs/") || strings.Count(req.Ref, "/") < 2 {
		return fail(http.StatusUnprocessableEntity, "Reference name must start with 'refs/' and have at least two slashes.")
	}
	if bad := c.withoutCommits(); bad != nil {
		return *bad
	}
	if c.repo.git.ref(req.Ref) != "" {
		return fail(http.StatusUnprocessableEntity, "Reference already exists")
	}
	if bad := c.checkedRef(req.Ref, req.SHA); bad != nil {
		return *bad
	}
	if err := c.repo.git.set(req.Ref, req.SHA, ""); err != nil {
		return fail(http.StatusUnprocessableEntity, "Reference update failed") // such as refs/heads/a beside refs/heads/a/b
	}
	c.moved(req.Ref, req.SHA)
	c.hub.made("/repos/%s/git/ref/%s", c.repo.full(), strings.TrimPrefix(req.Ref, "refs/"))
	out := c.refJSON(req.Ref, req.SHA, c.repo.git.kind(req.SHA))
	return created("ref "+req.Ref, out).with("Location", fmt.Sprint(out["url"]))
}

// moved does what follows a push: a check suite for each app that writes checks.
func (c *call) moved(name, sha string) {
	branch, isBranch := strings.CutPrefix(name, "refs/heads/")
	if !isBranch {
		return
	}
	c.repo.pushed = c.hub.now()
	c.hub.openSuites(c.repo, branch, sha, c.me())
}

func updateRef(c *call) reply {
	var req struct {
		SHA   string
		Force bool
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	name := "refs/" + c.args["ref"]
	old := c.repo.git.ref(name)
	if old == "" {
		return fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if bad := c.checkedRef(name, req.SHA); bad != nil {
		return *bad
	}
	if !req.Force && !c.repo.git.ancestor(old, req.SHA) {
		return fail(http.StatusUnprocessableEntity, "Update is not a fast forward")
	}
	if err := c.repo.git.set(name, req.SHA, old); err != nil {
		return broken(err)
	}
	if old != req.SHA {
		c.moved(name, req.SHA)
	}
	return ok(c.refJSON(name, req.SHA, c.repo.git.kind(req.SHA))).about("ref %s", name)
}

func deleteRef(c *call) reply {
	name := "refs/" + c.args["ref"]
	old := c.repo.git.ref(name)
	if old == "" {
		return fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if name == "refs/heads/"+c.repo.base {
		return fail(http.StatusUnprocessableEntity, "Cannot delete the default branch")
	}
	for _, i := range c.repo.sorted() { // pull requests from a deleted branch are closed
		if i.pull != nil && i.state == "open" && "refs/heads/"+i.pull.head == name {
			c.hub.setState(c.repo, i, c.me(), "closed", "")
		}
	}
	if err := c.repo.git.set(name, "", old); err != nil {
		return broken(err)
	}
	return reply{status: http.StatusNoContent}.about("ref %s", name)
}

// maxContent is where GET contents stops giving the content itself.
const maxContent = 1 << 20

func getContents(c *call) reply {
	file, ref := strings.Trim(path.Clean("/"+c.args["path"]), "/"), c.query("ref")
	if ref == "" {
		ref = c.repo.base
	}
	sha := c.repo.git.commit(ref)
	if sha == "" {
		return fail(http.StatusNotFound, "No commit found for the ref "+ref)
	}
	if file == "" {
		return c.folder(sha, file, ref)
	}
	entries, err := c.repo.git.tree(sha, false, file)
	if err != nil {
		return broken(err)
	}
	at := slices.IndexFunc(entries, func(e treeEntry) bool { return e.path == file })
	if at < 0 {
		return notFound()
	}
	e := entries[at]
	if e.kind == "tree" {
		return c.folder(sha, file, ref)
	}
	if e.kind == "commit" {
		return ok(merge(c.contentRow(e, ref), obj{"type": "submodule", "submodule_git_url": nil}))
	}
	data, err := c.repo.git.run(nil, "cat-file", "blob", e.sha)
	if err != nil {
		return broken(err)
	}
	if wantsRaw(c) {
		return ok(string(data))
	}
	row := c.contentRow(e, ref)
	switch {
	case e.mode == "120000":
		row["target"] = string(data)
	case len(data) > maxContent:
		row["content"], row["encoding"] = "", "none"
	default:
		row["content"], row["encoding"] = base64.StdEncoding.EncodeToString(data), "base64"
	}
	return ok(row)
}

func (c *call) folder(sha, dir, ref string) reply {
	entries, err := c.repo.git.tree(sha+":"+dir, false, "")
	if err != nil {
		return broken(err)
	}
	rows := []obj{}
	for _, e := range entries {
		e.path = path.Join(dir, e.path)
		rows = append(rows, c.contentRow(e, ref))
	}
	return ok(rows)
}

func (c *call) contentRow(e treeEntry, ref string) obj {
	kind := map[string]string{"tree": "dir", "blob": "file", "commit": "submodule"}[e.kind]
	if e.mode == "120000" {
		kind = "symlink"
	}
	escaped := (&url.URL{Path: e.path}).EscapedPath()
	api := c.hub.repoAPI(c.repo) + "/contents/" + escaped + "?ref=" + url.QueryEscape(ref)
	blob := c.hub.repoAPI(c.repo) + "/git/" + e.kind + "s/" + e.sha
	html := c.hub.repoPage(c.repo) + "/blob/" + url.PathEscape(ref) + "/" + escaped
	row := obj{
		"name": path.Base(e.path), "path": e.path, "sha": e.sha, "size": e.size, "type": kind,
		"url": api, "git_url": blob, "html_url": html, "download_url": nil,
		"_links": obj{"self": api, "git": blob, "html": html},
	}
	if kind == "file" {
		row["download_url"] = c.hub.repoPage(c.repo) + "/raw/" + url.PathEscape(ref) + "/" + escaped
	}
	return row
}
