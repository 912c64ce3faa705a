package githubsim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Signing people in through an App: GitHub's web application flow with PKCE.

const (
	// keepGrant is how long the code of a sign-in can be exchanged.
	keepGrant = 10 * time.Minute
	// keepPersonToken is how long a person's token works.
	keepPersonToken = 8 * time.Hour
)

// grant is a sign-in that a person agreed to, until its code is exchanged.
type grant struct {
	app                 *app
	who                 *user
	redirect, challenge string
	expires             time.Time
}

// personToken is a token that acts for a person.
type personToken struct {
	who     *user
	expires time.Time
}

// appByClient finds an App by its client ID; nil if there is none. The hub's lock is held.
func (h *Hub) appByClient(id string) *app {
	for _, a := range h.apps {
		if id != "" && a.clientID == id {
			return a
		}
	}
	return nil
}

// serveAuthorize asks a person whether the App may know who they are, and sends the browser back with a code.
func (h *Hub) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	h.mu.Lock()
	a := h.appByClient(q.Get("client_id"))
	var name string
	var callbacks []string
	if a != nil {
		name, callbacks = a.name, a.callbacks
	}
	h.mu.Unlock()
	to := q.Get("redirect_uri")
	back, err := url.Parse(to)
	switch {
	case a == nil:
		http.NotFound(w, r)
		return
	case err != nil || !slices.Contains(callbacks, to):
		http.Error(w, "The redirect_uri is not associated with this application.", http.StatusBadRequest)
		return
	case q.Get("code_challenge") != "" && q.Get("code_challenge_method") != "S256":
		http.Error(w, "The code_challenge_method must be S256.", http.StatusBadRequest)
		return
	}
	if r.Method != http.MethodPost {
		data := obj{"Title": "Authorize " + name, "Repo": "", "Name": name, "People": h.accounts("User")}
		h.showPage(w, http.StatusOK, "authorize", data, back.Scheme+"://"+back.Host)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	if r.PostFormValue("do") == "authorize" {
		answer.Set("code", h.grant(a, r.PostFormValue("as"), to, q.Get("code_challenge")))
	} else {
		answer.Set("error", "access_denied")
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// grant makes a code for a person.
func (h *Hub) grant(a *app, login, redirect, challenge string) (code string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	code = randomHex(10)
	h.grants[code] = &grant{a, h.users[strings.ToLower(login)], redirect, challenge, h.now().Add(keepGrant)}
	return code
}

// serveExchange gives a person's token for a code, once. Refusals have status 200, as GitHub's have.
func (h *Hub) serveExchange(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	answer := h.exchange(r)
	h.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	if strings.Contains(r.Header.Get("Accept"), "json") {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(answer) // a client that left needs no answer
		return
	}
	form := url.Values{}
	for k, v := range answer {
		form.Set(k, v)
	}
	w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	_, _ = io.WriteString(w, form.Encode()) // nobody is left to tell
}

// exchange checks a request for a token. The hub's lock is held.
func (h *Hub) exchange(r *http.Request) map[string]string {
	a, code := h.appByClient(r.PostFormValue("client_id")), r.PostFormValue("code")
	if a == nil || a.clientSecret != r.PostFormValue("client_secret") {
		return refusal("incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
	}
	g := h.grants[code]
	delete(h.grants, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	proof := base64.RawURLEncoding.EncodeToString(sum[:])
	switch {
	case g == nil || g.who == nil || g.app != a || !h.now().Before(g.expires), g.challenge != "" && g.challenge != proof:
		return refusal("bad_verification_code", "The code passed is incorrect or expired.")
	case g.redirect != r.PostFormValue("redirect_uri"):
		return refusal("redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this application.")
	}
	text := "ghu_" + randomHex(18)
	h.persons[text] = &personToken{g.who, h.now().Add(keepPersonToken)}
	return map[string]string{"access_token": text, "token_type": "bearer", "scope": ""}
}

func refusal(code, text string) map[string]string {
	return map[string]string{"error": code, "error_description": text}
}

// getMe answers GET /user.
func getMe(c *call) reply { return ok(c.hub.publicUser(c.person)) }
