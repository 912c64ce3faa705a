package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/solve"
)

// SignIn finds out who people are, by GitHub.
type SignIn interface {
	// URL is where a browser goes; it comes back to [CallbackURL] with the state and a code.
	URL(state, verifier string) string
	// Person is whose code it is.
	Person(ctx context.Context, code, verifier string) (solve.Person, error)
}

const (
	signInPath = "/signin"
	// callbackPath is where GitHub sends people back to who sign in.
	callbackPath = signInPath + "/callback"
	// signInTime is how long a person may take at GitHub.
	signInTime = 10 * time.Minute
)

// CallbackURL is where GitHub sends people back to, for a server at a public URL.
func CallbackURL(publicURL string) string { return strings.TrimSuffix(publicURL, "/") + callbackPath }

// signInPage is the page that asks people to sign in.
type signInPage struct {
	To, Problem string
	GitHub      string // where signing in by GitHub begins, "" where it is not possible
	Token       bool   // the operator's token opens the pages
}

// askSignIn shows the ways in.
func (p *Pages) askSignIn(w http.ResponseWriter, r *http.Request, to, problem string) {
	ask := signInPage{To: to, Problem: problem, Token: p.Token != ""}
	if p.SignIn != nil { // at the public URL, where GitHub sends the browser back to
		ask.GitHub = strings.TrimSuffix(p.PublicURL, "/") + signInPath + "?" + url.Values{"to": {to}}.Encode()
	}
	if !ask.Token && ask.GitHub == "" {
		http.Error(w, "The pages need login by GitHub (github.app.client_id and server.public_url), an API token (server.api_token_env) or, "+
			"on one machine, the link that yudai printed.", http.StatusNotFound)
		return
	}
	p.show(w, r, http.StatusUnauthorized, "login.html", page{Title: "Sign in", Bare: true}, ask)
}

// beginSignIn sends the browser to GitHub. What the answer must fit is in a cookie: state, verifier, and the page that
// was asked for.
func (p *Pages) beginSignIn(w http.ResponseWriter, r *http.Request) {
	if p.SignIn == nil {
		http.NotFound(w, r)
		return
	}
	state, verifier := rand.Text()+rand.Text(), rand.Text()+rand.Text()
	to := base64.RawURLEncoding.EncodeToString([]byte(solve.Clip(r.URL.Query().Get("to"), 1000)))
	p.setCookie(w, r, signInCookie(r), signInPath, state+"."+verifier+"."+to, signInTime)
	http.Redirect(w, r, p.SignIn.URL(state, verifier), http.StatusSeeOther)
}

func signInCookie(r *http.Request) string { return cookieName(r) + "_signin" }

// endSignIn takes GitHub's answer, if it fits what this browser asked.
func (p *Pages) endSignIn(w http.ResponseWriter, r *http.Request) {
	if p.SignIn == nil {
		http.NotFound(w, r)
		return
	}
	c, err := r.Cookie(signInCookie(r))
	var parts []string
	if err == nil {
		parts = strings.Split(c.Value, ".")
	}
	q := r.URL.Query()
	if len(parts) != 3 || subtle.ConstantTimeCompare([]byte(parts[0]), []byte(q.Get("state"))) != 1 {
		p.askSignIn(w, r, "/", "This answer of GitHub belongs to no sign-in that this browser began in the last ten minutes.")
		return
	}
	p.setCookie(w, r, signInCookie(r), signInPath, "", -time.Second)
	asked, _ := base64.RawURLEncoding.DecodeString(parts[2])
	to := localPath(string(asked))
	if q.Get("code") == "" {
		p.askSignIn(w, r, to, "GitHub did not sign you in.")
		return
	}
	who, err := p.SignIn.Person(r.Context(), q.Get("code"), parts[1])
	if err != nil {
		zerolog.Ctx(r.Context()).Warn().Err(err).Msg("nobody signed in to the pages")
		p.askSignIn(w, r, to, "GitHub did not tell who you are. Please try again; the log says why.")
		return
	}
	p.signIn(w, r, who, to)
}

// sessionRow is a session on the page that lists them.
type sessionRow struct {
	Name, Browser, Began, Ends string
	Here                       bool
}

// listSessions shows where the person is signed in.
func (p *Pages) listSessions(w http.ResponseWriter, r *http.Request) {
	me := viewer(r.Context())
	here, rows := nameOf(me.value), []sessionRow{}
	p.sessions.mu.Lock()
	for _, name := range p.sessions.of(me.Person) {
		s := p.sessions.all[name]
		if p.Now().Sub(s.Began) >= sessionTime {
			continue
		}
		rows = append(rows, sessionRow{
			Name: name[:16], Browser: s.Browser, Began: s.Began.UTC().Format(clockForm),
			Ends: s.Began.Add(sessionTime).UTC().Format(clockForm), Here: name == here,
		})
	}
	p.sessions.mu.Unlock()
	p.show(w, r, http.StatusOK, "sessions.html", page{Title: "Sessions"}, map[string]any{"Rows": rows, "Check": me.check()})
}

// endSessions ends one session of the person, or all.
func (p *Pages) endSessions(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("name")
	if len(name) != 16 && r.PostFormValue("all") == "" {
		http.Error(w, "The form names no session.", http.StatusBadRequest)
		return
	}
	if err := p.sessions.end(viewer(r.Context()), name); err != nil {
		p.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/sessions", http.StatusSeeOther)
}
