package githubsim

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// authenticate finds out who calls. Everything needs credentials here, public
// reads too: the emulator is stricter than GitHub, so that a forgotten header shows.
func (h *Hub) authenticate(c *call) *reply {
	scheme, value, _ := strings.Cut(c.req.Header.Get("Authorization"), " ")
	switch strings.ToLower(scheme) {
	case "bearer", "token":
		if strings.Count(value, ".") == 2 && !strings.HasPrefix(value, "ghs_") {
			return h.checkJWT(c, value)
		}
		return h.checkToken(c, value)
	case "basic":
		if _, password, ok := c.req.BasicAuth(); ok {
			return h.checkToken(c, password)
		}
	case "":
		return refuse(http.StatusUnauthorized, "Requires authentication")
	}
	return refuse(http.StatusUnauthorized, "Bad credentials")
}

func refuse(status int, message string) *reply {
	r := fail(status, message)
	return &r
}

func (h *Hub) checkToken(c *call, text string) *reply {
	if p := h.persons[text]; p != nil && h.now().Before(p.expires) {
		c.person = p.who
		return nil
	}
	t := h.tokens[text]
	if t == nil || !h.now().Before(t.expires) {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	if !t.inst.suspended.IsZero() {
		return refuse(http.StatusForbidden, "This installation has been suspended")
	}
	c.token, c.raw = t, text
	return nil
}

// checkJWT checks an app's JWT by GitHub's rules: RS256, issued in the past,
// expiring in the future and at most ten minutes ahead.
func (h *Hub) checkJWT(c *call, text string) *reply {
	const undecodable = "A JSON web token could not be decoded"
	parts := strings.Split(text, ".")
	var head struct{ Alg string }
	var claims struct {
		Iat, Exp *float64
		Iss      any
	}
	for i, v := range []any{&head, &claims} {
		data, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(data, v) != nil {
			return refuse(http.StatusUnauthorized, undecodable)
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || head.Alg != "RS256" {
		return refuse(http.StatusUnauthorized, undecodable)
	}
	id, _ := strconv.ParseInt(fmt.Sprint(claims.Iss), 10, 64)
	if f, isNumber := claims.Iss.(float64); isNumber {
		id = int64(f)
	}
	a := h.apps[id]
	if a == nil {
		return refuse(http.StatusNotFound, "Integration not found")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(a.key, crypto.SHA256, sum[:], signature) != nil {
		return refuse(http.StatusUnauthorized, undecodable)
	}
	now := float64(h.now().Unix())
	switch {
	case claims.Iat == nil || *claims.Iat > now:
		return refuse(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.Exp == nil || *claims.Exp <= now:
		return refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case *claims.Exp > now+600:
		return refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	}
	c.app = a
	return nil
}

// admit checks that the caller may use the route and finds the repository.
func (h *Hub) admit(c *call, to *route) *reply {
	switch to.who {
	case byApp:
		if c.app == nil {
			return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
		}
	case byToken:
		if c.token == nil {
			return refuse(http.StatusForbidden, "Resource not accessible by integration")
		}
	case byPerson:
		if c.person == nil {
			return refuse(http.StatusForbidden, "Resource not accessible by integration")
		}
	}
	if c.args["owner"] != "" {
		r, err := h.repo(c.args["owner"] + "/" + c.args["repo"])
		if err != nil || c.token != nil && !c.token.reaches(r) {
			return refuse(http.StatusNotFound, "Not Found")
		}
		c.repo = r
	}
	if len(to.rights) > 0 && !c.token.may(to.rights) {
		r := fail(http.StatusForbidden, "Resource not accessible by integration").
			with("X-Accepted-GitHub-Permissions", strings.ReplaceAll(strings.Join(to.rights, "; "), ":", "="))
		return &r
	}
	if n := c.args["issue"]; n != "" {
		c.issue = c.repo.issues[int(c.number("issue"))]
		if c.issue == nil {
			return c.missing()
		}
	}
	return nil
}

// reaches reports whether the token covers r.
func (t *token) reaches(r *repo) bool {
	return t.inst.covers(r) && (t.repos == nil || t.repos[r.id])
}

// may reports whether the token has one of the rights ("issues:write").
func (t *token) may(rights []string) bool {
	for _, right := range rights {
		name, level, _ := strings.Cut(right, ":")
		if rank(t.perms[name]) >= rank(level) {
			return true
		}
	}
	return false
}

func rank(level string) int { return slices.Index([]string{"", "read", "write", "admin"}, level) }

type tokenRequest struct {
	Repositories  []string          `json:"repositories"`
	RepositoryIDs []int64           `json:"repository_ids"`
	Permissions   map[string]string `json:"permissions"`
}

// mint answers POST /app/installations/{id}/access_tokens.
func mint(c *call) reply {
	h := c.hub
	in, denied := c.installation()
	if denied != nil {
		return *denied
	}
	if !in.suspended.IsZero() {
		return fail(http.StatusForbidden, "This installation has been suspended")
	}
	var req tokenRequest
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	t := &token{inst: in, perms: clonePerms(in.perms), expires: h.now().Add(time.Hour).Truncate(time.Second)}
	if denied := t.narrow(h, req); denied != nil {
		return *denied
	}
	text := h.tokenText(in, t, c.req.Header.Get("X-GitHub-Stateless-S2S-Token"))
	h.tokens[text] = t
	body := obj{
		"token": text, "expires_at": stamp(t.expires), "permissions": t.perms, "repository_selection": in.selection(),
	}
	if t.repos != nil {
		body["repository_selection"] = "selected"
		repos := []obj{}
		for _, r := range h.reposOf(t) {
			repos = append(repos, h.repoJSON(r))
		}
		body["repositories"] = repos
	}
	return created(fmt.Sprintf("token installation=%d permissions=%v", in.id, t.perms), body)
}

// narrow applies the wishes of a token request, which can only take away.
func (t *token) narrow(h *Hub, req tokenRequest) *reply {
	if req.Repositories != nil || req.RepositoryIDs != nil {
		t.repos = map[int64]bool{}
		for _, r := range h.repos {
			if t.inst.covers(r) && (slices.Contains(req.RepositoryIDs, r.id) ||
				slices.ContainsFunc(req.Repositories, func(n string) bool { return strings.EqualFold(n, r.name) })) {
				t.repos[r.id] = true
			}
		}
		if len(t.repos) < len(req.Repositories)+len(req.RepositoryIDs) || len(t.repos) == 0 {
			return refuse(http.StatusUnprocessableEntity,
				"There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
	}
	if req.Permissions == nil {
		return nil
	}
	t.perms = map[string]string{"metadata": "read"}
	for name, level := range req.Permissions {
		if rank(level) < 1 || rank(level) > rank(t.inst.perms[name]) {
			return refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
		}
		t.perms[name] = level
	}
	return nil
}

// tokenText makes the token itself in one of GitHub's two forms.
func (h *Hub) tokenText(in *installation, t *token, wish string) string {
	h.minted++
	stateless := h.opts.Tokens == TokenStateless || h.opts.Tokens == TokenAlternate && h.minted%2 == 0
	switch wish {
	case "enabled":
		stateless = true
	case "disabled":
		stateless = false
	}
	if !stateless {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		b := make([]byte, 36)
		rand.Read(b) // never fails
		for i := range b {
			b[i] = letters[int(b[i])%len(letters)]
		}
		return "ghs_" + string(b)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signature := make([]byte, 256)
	rand.Read(signature) // never fails
	claims := fmt.Sprintf(`{"iss":"https://github.test","sub":"%d","exp":%d,"jti":"%s"}`, in.id, t.expires.Unix(), randomHex(16))
	return fmt.Sprintf("ghs_%d_%s.%s.%s", in.app.id, encode([]byte(`{"alg":"RS256","typ":"JWT"}`)), encode([]byte(claims)), encode(signature))
}

// reposOf lists what a token reaches, by id.
func (h *Hub) reposOf(t *token) []*repo {
	var all []*repo
	for _, r := range h.repos {
		if t.reaches(r) {
			all = append(all, r)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	return all
}

func (c *call) installation() (*installation, *reply) {
	in := c.hub.installs[c.number("installation")]
	if in == nil || in.app != c.app {
		return nil, refuse(http.StatusNotFound, "Not Found")
	}
	return in, nil
}
