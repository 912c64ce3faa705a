package githubsim

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// gitPath is a request of the smart HTTP protocol; ".git" may be left out.
var gitPath = regexp.MustCompile(`^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$`)

func isGit(path string) bool { return gitPath.MatchString(path) }

// serveGit lets the git program answer a fetch or push, behind Basic auth with
// an installation token as password. A push moves the branches and sends no webhook.
func (h *Hub) serveGit(w http.ResponseWriter, r *http.Request) {
	m := gitPath.FindStringSubmatch(r.URL.Path)
	push := m[3] == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	h.mu.Lock()
	c := &call{hub: h, req: r}
	dir, denied := h.gitAccess(c, m[1]+"/"+m[2], push)
	h.mu.Unlock()
	if denied != nil {
		if denied.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		body, _ := denied.body.(obj)
		http.Error(w, fmt.Sprint(body["message"]), denied.status)
		return
	}
	program, err := exec.LookPath("git")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	in := r.Clone(r.Context())
	in.URL = &url.URL{Path: "/" + filepath.Base(dir) + "/" + m[3], RawQuery: r.URL.RawQuery}
	in.Header.Del("Authorization")
	env := append(gitEnv(), "GIT_PROJECT_ROOT="+filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x-access-token")
	if c.token.may([]string{"workflows:write"}) {
		env = append(env, workflowsEnv)
	}
	backend := &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Root: "/", Dir: filepath.Dir(dir), Env: env,
	}
	backend.ServeHTTP(w, in)
	if m[3] != "git-receive-pack" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.repo.pushed = h.now()
	rec := Record{Kind: "request", Status: http.StatusOK, Method: r.Method, Path: r.URL.Path, Actor: c.spender(), Target: "push"}
	if err := h.record(rec); err != nil {
		h.opts.Log.Error().Err(err).Msg("history not written")
	}
	h.signal()
}

// gitAccess checks the token and finds the bare repository.
func (h *Hub) gitAccess(c *call, full string, push bool) (string, *reply) {
	if _, password, ok := c.req.BasicAuth(); !ok || !strings.HasPrefix(password, "ghs_") {
		return "", refuse(http.StatusUnauthorized, "Authentication required")
	}
	if denied := h.authenticate(c); denied != nil {
		return "", denied
	}
	repo, err := h.repo(full)
	if err != nil || !c.token.reaches(repo) {
		return "", refuse(http.StatusNotFound, "Repository not found.")
	}
	c.repo = repo
	right := "contents:read"
	if push {
		right = "contents:write"
	}
	if !c.token.may([]string{right}) {
		return "", refuse(http.StatusForbidden, "Write access to repository not granted.")
	}
	return repo.git.path, nil
}
