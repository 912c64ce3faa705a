package server

import (
	"crypto/rand"
	"crypto/subtle"
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	// sessionCookie holds the session of the browser that used the token.
	sessionCookie = "yudai_setup"
	// stateTime is how long GitHub's code can be redeemed; a state lives as long.
	stateTime = time.Hour
	// maxStates bounds the registrations that are begun and not finished.
	maxStates = 32
)

// door lets one browser into the set-up: the one that brings the token first.
type door struct {
	token string
	now   func() time.Time

	mu      sync.Mutex
	session string // "" until the token was used
	states  map[string]begun
}

// begun is a registration that GitHub has not answered yet.
type begun struct {
	plan    plan
	expires time.Time
}

// guard passes requests of the session on. The token is exchanged for a session and
// leaves the address bar; everything else is refused.
func (d *door) guard(next http.Handler, refuse http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.URL.Query().Get("token"); token != "" && r.Method == http.MethodGet && r.URL.Path == "/setup" {
			session, ok := d.enter(token)
			if ok {
				http.SetCookie(w, &http.Cookie{
					Name: sessionCookie, Value: session, Path: "/setup", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: scheme(r) == "https",
				})
			}
			if ok || d.inside(r) {
				w.Header().Set("Cache-Control", "no-store")
				http.Redirect(w, r, "/setup", http.StatusSeeOther)
				return
			}
		}
		if !d.inside(r) {
			refuse(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// enter exchanges the token for a session, once.
func (d *door) enter(token string) (session string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(token), []byte(d.token)) != 1 || d.session != "" {
		return "", false
	}
	d.session = rand.Text()
	return d.session, true
}

func (d *door) inside(r *http.Request) bool {
	c, err := r.Cookie(sessionCookie)
	d.mu.Lock()
	defer d.mu.Unlock()
	return err == nil && d.session != "" && subtle.ConstantTimeCompare([]byte(c.Value), []byte(d.session)) == 1
}

// begin notes a registration and returns its state. There is one session, so the
// state is bound to its cookie.
func (d *door) begin(p plan) (state string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	maps.DeleteFunc(d.states, func(_ string, b begun) bool { return !now.Before(b.expires) })
	if d.states == nil || len(d.states) >= maxStates {
		d.states = map[string]begun{}
	}
	state = rand.Text()
	d.states[state] = begun{plan: p, expires: now.Add(stateTime)}
	return state
}

// end returns the plan of a state, once, within its hour.
func (d *door) end(state string) (plan, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, ok := d.states[state]
	delete(d.states, state)
	return b.plan, ok && d.now().Before(b.expires)
}

// scheme is how the browser reaches this server: the proxy in front says so.
func scheme(r *http.Request) string {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || r.Header.Get("Origin") == "https://"+r.Host {
		return "https"
	}
	return "http"
}
