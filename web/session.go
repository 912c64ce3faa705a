package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// sessionTime is how long a session lives.
const sessionTime = 12 * time.Hour

// sessions are who may see the pages. They live in memory, by the SHA-256 of what the cookie holds.
type sessions struct {
	token string // the operator's; "" is none
	now   func() time.Time

	mu   sync.Mutex
	ends map[[sha256.Size]byte]time.Time
	keys map[[sha256.Size]byte]bool // of links that nobody opened yet
}

// PageLink is the path of a link that opens a page once, and with it a session, without a login.
func (p *Pages) PageLink(page string) string {
	key := rand.Text() + rand.Text()
	p.sessions.mu.Lock()
	defer p.sessions.mu.Unlock()
	if p.sessions.keys == nil {
		p.sessions.keys = map[[sha256.Size]byte]bool{}
	}
	p.sessions.keys[sha256.Sum256([]byte(key))] = true
	return "/enter?" + url.Values{"key": {key}, "to": {page}}.Encode()
}

// begin makes a session and returns what its cookie holds: 256 random bits.
func (s *sessions) begin() string {
	value := rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends == nil {
		s.ends = map[[sha256.Size]byte]time.Time{}
	}
	now := s.now()
	maps.DeleteFunc(s.ends, func(_ [sha256.Size]byte, end time.Time) bool { return !now.Before(end) })
	s.ends[sha256.Sum256([]byte(value))] = now.Add(sessionTime)
	return value
}

// has says whether a request carries a living session.
func (s *sessions) has(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Before(s.ends[sha256.Sum256([]byte(c.Value))])
}

// redeem uses the key of a link up.
func (s *sessions) redeem(key string) bool {
	sum := sha256.Sum256([]byte(key))
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := s.keys[sum]
	delete(s.keys, sum)
	return ok
}

// isOperator says whether a text is the operator's token.
func (s *sessions) isOperator(text string) bool {
	got, want := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(s.token))
	return s.token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// cookieName holds the port: cookies of one host are shared by all its ports, and a demo may run beside a server.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "yudai_" + port
	}
	return "yudai"
}

// isSecure says whether the browser came by https; a proxy in front tells.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || r.Header.Get("Origin") == "https://"+r.Host
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/", MaxAge: int(age.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: isSecure(r),
	})
}

// guard passes requests of a session on. All others get the form for the operator's token, where there is one.
func (p *Pages) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.sessions.has(r):
			next.ServeHTTP(w, r)
		case p.Token == "":
			http.Error(w, "The pages need an API token (server.api_token_env) or, on one machine, the link that yudai printed.", http.StatusNotFound)
		case r.Method != http.MethodGet:
			http.NotFound(w, r)
		default:
			p.askToken(w, r, r.URL.RequestURI(), "")
		}
	})
}

// askToken shows the form.
func (p *Pages) askToken(w http.ResponseWriter, r *http.Request, to, problem string) {
	p.show(w, r, http.StatusUnauthorized, "login.html", page{Title: "Sign in", Bare: true}, map[string]string{"To": to, "Problem": problem})
}

// enter exchanges the key of a printed link for a session.
func (p *Pages) enter(w http.ResponseWriter, r *http.Request) {
	if p.sessions.redeem(r.URL.Query().Get("key")) {
		setCookie(w, r, p.sessions.begin(), sessionTime)
	} else if !p.sessions.has(r) {
		http.Error(w, "This link was used, or it is of another process. A link opens the pages once, in one browser.", http.StatusNotFound)
		return
	}
	http.Redirect(w, r, localPath(r.URL.Query().Get("to")), http.StatusSeeOther)
}

// login exchanges the operator's token for a session.
func (p *Pages) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	to := localPath(r.PostFormValue("to"))
	switch {
	case p.Token == "":
		http.NotFound(w, r)
	case !p.sessions.isOperator(strings.TrimSpace(r.PostFormValue("token"))):
		p.askToken(w, r, to, "This is not the API token.")
	default:
		setCookie(w, r, p.sessions.begin(), sessionTime)
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

// logout ends the session.
func (p *Pages) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(cookieName(r)); err == nil {
		p.sessions.mu.Lock()
		delete(p.sessions.ends, sha256.Sum256([]byte(c.Value)))
		p.sessions.mu.Unlock()
	}
	setCookie(w, r, "", -time.Second)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// localPath is a path of this server, "/" for anything else.
func localPath(to string) string {
	u, err := url.Parse(to)
	ours := err == nil && !u.IsAbs() && u.Host == "" && strings.HasPrefix(u.Path, "/") && !strings.HasPrefix(u.Path, "//")
	if !ours || strings.Contains(to, `\`) {
		return "/"
	}
	return to
}
