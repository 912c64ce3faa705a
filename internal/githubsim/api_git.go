package githubsim

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

func getGitCommit(c *call) reply {
	if c.repo.git.kind(c.args["sha"]) != "commit" {
		return notFound()
	}
	info, err := c.repo.git.info(c.args["sha"])
	if err != nil {
		return broken(err)
	}
	return ok(c.hub.gitCommitJSON(c.repo, info))
}

func createBlob(c *call) reply {
	var req struct {
		Content  *string
		Encoding string
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if req.Content == nil {
		return fail(http.StatusUnprocessableEntity, "Invalid request.\n\n\"content\" wasn't supplied.")
	}
	data := []byte(*req.Content)
	switch req.Encoding {
	case "", "utf-8":
	case "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(*req.Content, "\n", "")); err != nil {
			return fail(http.StatusUnprocessableEntity, "content is not valid Base64")
		}
	default:
		return fail(http.StatusUnprocessableEntity, "encoding must be either \"utf-8\" or \"base64\"")
	}
	sha, err := c.repo.git.blob(data)
	if err != nil {
		return broken(err)
	}
	at := c.hub.repoAPI(c.repo) + "/git/blobs/" + sha
	return created("blob "+sha, obj{"sha": sha, "url": at}).with("Location", at)
}

func getBlob(c *call) reply {
	sha := c.args["sha"]
	if c.repo.git.kind(sha) != "blob" {
		return notFound()
	}
	data, err := c.repo.git.run(nil, "cat-file", "blob", sha)
	if err != nil {
		return broken(err)
	}
	if wantsRaw(c) {
		return ok(string(data))
	}
	return ok(obj{
		"sha": sha, "node_id": nodeID("Blob", 0), "size": len(data), "url": c.hub.repoAPI(c.repo) + "/git/blobs/" + sha,
		"content": base64.StdEncoding.EncodeToString(data), "encoding": "base64",
	})
}

func wantsRaw(c *call) bool {
	accept := c.req.Header.Get("Accept")
	return strings.Contains(accept, ".raw")
}

func getTree(c *call) reply {
	sha := c.args["sha"]
	switch c.repo.git.kind(sha) {
	case "tree":
	default:
		commit := c.repo.git.commit(sha)
		if commit == "" {
			return notFound()
		}
		info, err := c.repo.git.info(commit)
		if err != nil {
			return broken(err)
		}
		sha = info.tree
	}
	return c.treeReply(sha, c.req.URL.Query().Has("recursive"), http.StatusOK)
}

func (c *call) treeReply(sha string, deep bool, status int) reply {
	entries, err := c.repo.git.tree(sha, deep, "")
	if err != nil {
		return broken(err)
	}
	api := c.hub.repoAPI(c.repo) + "/git/"
	out := []obj{}
	for _, e := range entries {
		row := obj{"path": e.path, "mode": e.mode, "type": e.kind, "sha": e.sha}
		switch e.kind {
		case "blob":
			row["size"], row["url"] = e.size, api+"blobs/"+e.sha
		case "tree":
			row["url"] = api + "trees/" + e.sha
		}
		out = append(out, row)
	}
	r := ok(obj{"sha": sha, "url": api + "trees/" + sha, "tree": out, "truncated": false})
	r.status = status
	return r
}

// newEntry is an entry of POST git/trees. SHA is three-valued: absent, null
// (delete the path) and a name, so it is read as raw.
type newEntry struct {
	Path, Mode, Type string
	SHA              optional `json:"sha"`
	Content          *string
}

// optional tells an absent JSON string from null.
type optional struct {
	present bool
	value   string
}

// UnmarshalJSON is called for null too.
func (o *optional) UnmarshalJSON(data []byte) error {
	o.present = true
	o.value = strings.Trim(string(data), `"`)
	if string(data) == "null" {
		o.value = ""
	}
	return nil
}

func createTree(c *call) reply {
	var req struct {
		BaseTree string `json:"base_tree"`
		Tree     []newEntry
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if len(req.Tree) == 0 {
		return fail(http.StatusUnprocessableEntity, "Invalid tree info")
	}
	base := ""
	if req.BaseTree != "" {
		if kind := c.repo.git.kind(req.BaseTree); kind != "tree" && kind != "commit" {
			return notFound()
		}
		base = req.BaseTree
	}
	var entries []treeEntry
	for _, e := range req.Tree {
		entry, bad := c.treeEntry(e)
		if bad != nil {
			return *bad
		}
		entries = append(entries, entry)
	}
	sha, err := c.repo.git.graft(base, entries)
	if errors.Is(err, errTree) {
		return fail(http.StatusUnprocessableEntity, "GitRPC::BadObjectState")
	}
	if err != nil {
		return broken(err)
	}
	out := c.treeReply(sha, false, http.StatusCreated)
	return out.about("tree %s", sha).with("Location", c.hub.repoAPI(c.repo)+"/git/trees/"+sha)
}

func (c *call) treeEntry(e newEntry) (treeEntry, *reply) {
	kinds := map[string]string{"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}
	kind := kinds[e.Mode]
	out := treeEntry{mode: e.Mode, path: e.Path, sha: e.SHA.value}
	parts := strings.Split(e.Path, "/")
	switch {
	case kind == "" && !(e.SHA.present && out.sha == ""):
		return out, refuse(http.StatusUnprocessableEntity, "tree.mode "+e.Mode+" is not a valid mode")
	case e.Path == "" || slices.Contains(parts, "") || slices.Contains(parts, "..") || slices.Contains(parts, ".") || slices.Contains(parts, ".git"):
		return out, refuse(http.StatusUnprocessableEntity, "tree.path contains a malformed path component")
	case e.Content != nil && e.SHA.present:
		return out, refuse(http.StatusUnprocessableEntity, "tree.sha and tree.content may not both be given")
	case e.Content != nil:
		sha, err := c.repo.git.blob([]byte(*e.Content))
		if err != nil {
			r := broken(err)
			return out, &r
		}
		out.sha = sha
	case !e.SHA.present:
		return out, refuse(http.StatusUnprocessableEntity, "Must supply either tree.sha or tree.content")
	case out.sha != "" && kind != "commit" && c.repo.git.kind(out.sha) != kind:
		return out, refuse(http.StatusUnprocessableEntity, "tree.sha "+out.sha+" is not a valid "+kind)
	}
	return out, nil
}

type signature struct {
	Name, Email string
	Date        time.Time
}

func createCommit(c *call) reply {
	var req struct {
		Message, Tree, Signature *string
		Parents                  []string
		Author, Committer        *signature
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	git := c.repo.git
	switch {
	case req.Message == nil || *req.Message == "":
		return fail(http.StatusUnprocessableEntity, "Invalid request.\n\n\"message\" wasn't supplied.")
	case req.Tree == nil || git.kind(*req.Tree) != "tree":
		return fail(http.StatusUnprocessableEntity, "Tree SHA does not exist")
	}
	for _, p := range req.Parents {
		if git.kind(p) != "commit" {
			return fail(http.StatusUnprocessableEntity, "Parent SHA does not exist or is not a commit object")
		}
	}
	me := c.me()
	info := commitInfo{tree: *req.Tree, parents: req.Parents, message: *req.Message}
	info.author = person{me.login, me.email(), c.hub.now()}
	info.committer = person{"GitHub", "noreply@github.com", c.hub.now()}
	signed := req.Author == nil && req.Committer == nil && req.Signature == nil
	if req.Author != nil {
		info.author = req.Author.person(c.hub.now())
	}
	if !signed {
		info.committer = info.author
	}
	if req.Committer != nil {
		info.committer = req.Committer.person(c.hub.now())
	}
	if req.Signature != nil {
		info.signature = *req.Signature
	}
	sha, err := git.write(info)
	if err != nil {
		return broken(err)
	}
	if signed {
		c.repo.signed[sha] = true
	}
	info.sha = sha
	out := c.hub.gitCommitJSON(c.repo, info)
	return created("commit "+sha, out).with("Location", fmt.Sprint(out["url"]))
}

func (s *signature) person(now time.Time) person {
	if s.Date.IsZero() {
		s.Date = now
	}
	return person{s.Name, s.Email, s.Date}
}
