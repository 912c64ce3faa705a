package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// sessionTime is how long a session lives.
	sessionTime = 12 * time.Hour
	// maxSessions is how many of them one person has; the oldest gives way.
	maxSessions = 20
	// linkTime is how long a link of [Pages.PageLink] works: it stays in the scrollback of a terminal and in logs.
	linkTime = time.Hour
)

// session is that somebody is signed in, in one browser.
type session struct {
	// Person is who; the zero value is the operator.
	Person solve.Person `json:"person"`
	// Browser is how the browser calls itself.
	Browser string    `json:"browser"`
	Began   time.Time `json:"began"`
	value   string    // what the cookie of the request holds
}

func (s session) operator() bool { return s.Person == solve.Person{} }

// check is what a form of this session must carry: only a page of ours can know it.
func (s session) check() string {
	sum := hmac.New(sha256.New, []byte(s.value))
	sum.Write([]byte("form"))
	return hex.EncodeToString(sum.Sum(nil))
}

// sessions are who may see the pages, by the SHA-256 of what the cookie holds. Those of people are kept in a file;
// the operator's are not, so that a new token or a restart ends them.
type sessions struct {
	token string // the operator's; "" is none
	file  string // "" keeps none
	now   func() time.Time

	mu   sync.Mutex
	all  map[string]session
	keys map[[sha256.Size]byte]time.Time // of links that nobody opened yet: when they end
}

func newSessions(token, file string, now func() time.Time) (*sessions, error) {
	s := &sessions{token: token, file: file, now: now, all: map[string]session{}, keys: map[[sha256.Size]byte]time.Time{}}
	if file == "" {
		return s, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s.all)
	}
	if err != nil {
		return nil, fmt.Errorf("read who is signed in to the pages (remove %s, and people sign in again): %w", file, err)
	}
	maps.DeleteFunc(s.all, func(_ string, one session) bool { return one.operator() })
	return s, nil
}

// keep writes the file, if a session of a person changed. The caller holds s.mu.
func (s *sessions) keep(changed session) error {
	if s.file == "" || changed.operator() {
		return nil
	}
	people := maps.Clone(s.all)
	maps.DeleteFunc(people, func(_ string, one session) bool { return one.operator() })
	data, err := json.Marshal(people)
	if err != nil {
		return fmt.Errorf("encode who is signed in: %w", err)
	}
	return durable.WriteFile(s.file, data)
}

func nameOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// PageLink is the path of a link that opens a page once within an hour, and with it a session, without a login.
func (p *Pages) PageLink(page string) string {
	key := rand.Text() + rand.Text()
	p.sessions.mu.Lock()
	defer p.sessions.mu.Unlock()
	p.sessions.keys[sha256.Sum256([]byte(key))] = p.Now().Add(linkTime)
	return "/enter?" + url.Values{"key": {key}, "to": {page}}.Encode()
}

// begin makes a session and returns what its cookie holds: 256 random bits.
func (s *sessions) begin(who solve.Person, browser string) (value string, err error) {
	value = rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.all, func(_ string, one session) bool { return now.Sub(one.Began) >= sessionTime })
	if mine := s.of(who); len(mine) >= maxSessions {
		delete(s.all, mine[len(mine)-1])
	}
	one := session{Person: who, Browser: solve.Clip(solve.OneLine(browser), 150), Began: now}
	s.all[nameOf(value)] = one
	return value, s.keep(one)
}

// of are the names of a person's sessions, the newest first. The caller holds s.mu.
func (s *sessions) of(who solve.Person) (names []string) {
	for name, one := range s.all {
		if one.Person.ID == who.ID {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return s.all[b].Began.Compare(s.all[a].Began) })
	return names
}

// find is the living session that a request carries.
func (s *sessions) find(r *http.Request) (one session, ok bool) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok = s.all[nameOf(c.Value)]
	one.value = c.Value
	return one, ok && s.now().Sub(one.Began) < sessionTime
}

// end ends those sessions of a person whose name begins so: "" is all of them.
func (s *sessions) end(who session, prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.of(who.Person) {
		if strings.HasPrefix(name, prefix) {
			delete(s.all, name)
		}
	}
	return s.keep(who)
}

// redeem uses the key of a link up.
func (s *sessions) redeem(key string) bool {
	sum := sha256.Sum256([]byte(key))
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.keys[sum]
	delete(s.keys, sum)
	return s.now().Before(end)
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

// isSecure says whether the browser came by https; a proxy in front, or the public URL, tells.
func (p *Pages) isSecure(r *http.Request) bool {
	here := "https://" + r.Host
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || r.Header.Get("Origin") == here ||
		strings.EqualFold(strings.TrimSuffix(p.PublicURL, "/"), here)
}

func (p *Pages) setCookie(w http.ResponseWriter, r *http.Request, name, path, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: path, MaxAge: int(age.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: p.isSecure(r),
	})
}

// signIn begins a session and goes on to a page.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request, who solve.Person, to string) {
	value, err := p.sessions.begin(who, r.UserAgent())
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.setCookie(w, r, cookieName(r), "/", value, sessionTime)
	http.Redirect(w, r, localPath(to), http.StatusSeeOther)
}

type sessionKey struct{}

// viewer is the session of a request that the guard let pass.
func viewer(ctx context.Context) session {
	s, _ := ctx.Value(sessionKey{}).(session)
	return s
}

// guard passes requests of a session on, as far as the person may see what they name: what is not for them is not
// there. A POST must come from a form of the session. All others are asked to sign in.
func (p *Pages) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, ok := p.sessions.find(r)
		switch {
		case ok:
			r = r.WithContext(context.WithValue(r.Context(), sessionKey{}, s))
			if r.Method != http.MethodGet && !p.ownForm(w, r, s) {
				return
			}
			if !p.mayOpen(r, solve.ID(r.PathValue("id"))) {
				p.fail(w, r, solve.ErrNotFound)
				return
			}
			next.ServeHTTP(w, r)
		case r.Method != http.MethodGet:
			http.NotFound(w, r)
		default:
			p.askSignIn(w, r, r.URL.RequestURI(), "")
		}
	})
}

// ownForm refuses a POST that no page of the session sent.
func (p *Pages) ownForm(w http.ResponseWriter, r *http.Request, s session) bool {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if hmac.Equal([]byte(r.PostFormValue("check")), []byte(s.check())) {
		return true
	}
	http.Error(w, "This form is of another session. Go back, load the page again, and repeat it.", http.StatusForbidden)
	return false
}

// enter exchanges the key of a printed link for a session.
func (p *Pages) enter(w http.ResponseWriter, r *http.Request) {
	to := r.URL.Query().Get("to")
	_, signedIn := p.sessions.find(r)
	switch {
	case p.sessions.redeem(r.URL.Query().Get("key")):
		p.signIn(w, r, solve.Person{}, to)
	case signedIn:
		http.Redirect(w, r, localPath(to), http.StatusSeeOther)
	default:
		http.Error(w, "This link was used, is older than an hour, or is of another process. A link opens the pages once, in one browser.",
			http.StatusNotFound)
	}
}

// login exchanges the operator's token for a session.
func (p *Pages) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	to := localPath(r.PostFormValue("to"))
	switch {
	case p.Token == "":
		http.NotFound(w, r)
	case !p.sessions.isOperator(strings.TrimSpace(r.PostFormValue("token"))):
		p.askSignIn(w, r, to, "This is not the API token.")
	default:
		p.signIn(w, r, solve.Person{}, to)
	}
}

// logout ends the session.
func (p *Pages) logout(w http.ResponseWriter, r *http.Request) {
	s := viewer(r.Context())
	if err := p.sessions.end(s, nameOf(s.value)); err != nil {
		p.fail(w, r, err)
		return
	}
	p.setCookie(w, r, cookieName(r), "/", "", -time.Second)
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
