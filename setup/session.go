package setup

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

// session lets one browser into the set-up: the one that brings the token first.
type session struct {
	token string
	now   func() time.Time

	mu     sync.Mutex
	cookie string // "" until the token was used
	states map[string]begun
}

// begun is a registration that GitHub has not answered yet.
type begun struct {
	plan    plan
	expires time.Time
}

// guard passes requests of the session on. The token is exchanged for a session and
// leaves the address bar; everything else is refused.
func (s *session) guard(next http.Handler, refuse http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.URL.Query().Get("token"); token != "" && r.Method == http.MethodGet && r.URL.Path == "/setup" {
			cookie, ok := s.exchange(token)
			if ok {
				http.SetCookie(w, &http.Cookie{
					Name: sessionCookie, Value: cookie, Path: "/setup", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: scheme(r) == "https",
				})
			}
			if ok || s.has(r) {
				w.Header().Set("Cache-Control", "no-store")
				http.Redirect(w, r, "/setup", http.StatusSeeOther)
				return
			}
		}
		if !s.has(r) {
			refuse(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// exchange exchanges the token for a session, once.
func (s *session) exchange(token string) (cookie string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 || s.cookie != "" {
		return "", false
	}
	s.cookie = rand.Text()
	return s.cookie, true
}

// has says whether a request carries the session's cookie.
func (s *session) has(r *http.Request) bool {
	c, err := r.Cookie(sessionCookie)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && s.cookie != "" && subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.cookie)) == 1
}

// begin notes a registration and returns its state. There is one session, so the
// state is bound to its cookie.
func (s *session) begin(p plan) (state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.states, func(_ string, b begun) bool { return !now.Before(b.expires) })
	if s.states == nil || len(s.states) >= maxStates {
		s.states = map[string]begun{}
	}
	state = rand.Text()
	s.states[state] = begun{plan: p, expires: now.Add(stateTime)}
	return state
}

// end returns the plan of a state, once, within its hour.
func (s *session) end(state string) (plan, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.states[state]
	delete(s.states, state)
	return b.plan, ok && s.now().Before(b.expires)
}

// scheme is how the browser reaches this server: the proxy in front says so.
func scheme(r *http.Request) string {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || r.Header.Get("Origin") == "https://"+r.Host {
		return "https"
	}
	return "http"
}
