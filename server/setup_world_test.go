package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"html"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/internal/githubsim/openapi"
	"github.com/yudai-dev/yudai/server"
)

// Loaded once for all tests: both cost more than a test.
var (
	setupKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
	setupAPI = sync.OnceValues(func() (*openapi.Validator, error) { return openapi.New("/api/v3") })
)

// setupWorld is the set-up serving beside the emulator, and one browser.
type setupWorld struct {
	later atomic.Int64 // how far the clock of the set-up is ahead
	t     *testing.T
	dir   string
	hub   *githubsim.Hub
	set   *server.Setup
	base  string // the set-up's address
	log   *sharedLog
	seen  *bytes.Buffer // everything the browser was shown
	http  *http.Client
	cfg   server.Config
	env   map[string]string
	stop  context.CancelFunc
	ended chan error
}

// sharedLog is a buffer that the server writes while the test reads.
type sharedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newSetupWorld(t *testing.T, opts githubsim.Options) *setupWorld {
	t.Helper()
	w := &setupWorld{t: t, dir: t.TempDir(), log: &sharedLog{}, seen: &bytes.Buffer{}, env: map[string]string{}}
	key, err := setupKey()
	w.must(err)
	opts.AppKey, opts.Dir, opts.APIPrefix = key, filepath.Join(w.dir, "github"), "/api/v3"
	w.hub = githubsim.New(opts)
	far := httptest.NewServer(w.hub)
	w.hub.SetBaseURL(far.URL)
	t.Cleanup(func() {
		far.Close()
		w.must(w.hub.Close())
	})
	w.hub.CreateUser("maya")
	_, err = w.hub.CreateRepo("acme", "widget", map[string]string{"README.md": "# Widget\n"})
	w.must(err)
	w.cfg = server.Default()
	w.cfg.Server.Address, w.cfg.Store.Path = ownAddress(), filepath.Join(w.dir, "data", "yudai.db")
	w.cfg.Sandbox.Driver = "no-such-driver"
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *setupWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// ownAddress is one that the system gives to nobody who asks for any port, so that a second process can listen there.
func ownAddress() string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+mathrand.IntN(12_000))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
}

// open starts a set-up, with a new browser.
func (w *setupWorld) open() {
	w.t.Helper()
	api, err := setupAPI()
	w.must(err)
	w.set, err = server.NewSetup(w.t.Context(), w.cfg, server.Where{}, server.Options{
		Getenv: func(k string) string { return w.env[k] }, Log: zerolog.New(w.log),
		Now:       func() time.Time { return time.Now().Add(time.Duration(w.later.Load())) },
		Transport: api.Transport(http.DefaultTransport, func(err error) { w.t.Errorf("not GitHub's API: %v", err) }),
	})
	w.must(err)
	w.base = "http://" + w.set.Addr()
	w.http = w.browser()
	ctx, stop := context.WithCancel(w.t.Context())
	w.stop, w.ended = stop, make(chan error, 1)
	go func() { w.ended <- w.set.Run(ctx) }()
}

// close stops it, as a signal does.
func (w *setupWorld) close() {
	if w.stop != nil {
		w.stop()
		w.must(<-w.ended)
		w.stop = nil
	}
}

func (w *setupWorld) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// page is what a browser got.
type page struct {
	status int
	body   string
	to     string
	header http.Header
}

func (w *setupWorld) do(method, target string, form url.Values, origin string) page {
	w.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = w.base + target
	}
	req, err := http.NewRequest(method, target, strings.NewReader(form.Encode()))
	w.must(err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	resp, err := w.http.Do(req)
	w.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	w.must(err)
	w.seen.Write(body)
	fmt.Fprint(w.seen, resp.Header)
	return page{resp.StatusCode, string(body), resp.Header.Get("Location"), resp.Header}
}

func (w *setupWorld) get(target string) page {
	w.t.Helper()
	return w.do(http.MethodGet, target, nil, "")
}

func (w *setupWorld) post(target string, form url.Values) page {
	w.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	return w.do(http.MethodPost, target, form, w.base)
}

// enter uses the link.
func (w *setupWorld) enter() {
	w.t.Helper()
	if p := w.get(w.set.URL()); p.status != http.StatusSeeOther || p.to != "/setup" {
		w.t.Fatalf("the link answers %d to %q", p.status, p.to)
	}
}

var actionShape = regexp.MustCompile(`<form method="post" action="([^"]+)"><input type="hidden" name="manifest" value="([^"]*)">`)

// describe fills the first page in and returns where the manifest goes, and it.
func (w *setupWorld) describe(name, owner string) (action, manifest string) {
	w.t.Helper()
	p := w.post("/setup", url.Values{"public_url": {w.base}, "owner": {owner}, "name": {name}, "github": {w.hub.URL()}})
	found := actionShape.FindStringSubmatch(p.body)
	if p.status != http.StatusOK || found == nil {
		w.t.Fatalf("the second page: %d\n%s", p.status, p.body)
	}
	return html.UnescapeString(found[1]), html.UnescapeString(found[2])
}

// create has GitHub make the App and returns the address that it sends the browser to.
func (w *setupWorld) create(action, manifest, name string) string {
	w.t.Helper()
	p := w.do(http.MethodPost, action, url.Values{"manifest": {manifest}, "name": {name}, "owner": {"maya"}, "do": {"create"}}, w.hub.URL())
	if p.status != http.StatusFound {
		w.t.Fatalf("GitHub did not create the App: %d\n%s", p.status, p.body)
	}
	return p.to
}

// register walks to the last page.
func (w *setupWorld) register() {
	w.t.Helper()
	w.enter()
	action, manifest := w.describe("yudai", "acme")
	if p := w.get(w.create(action, manifest, "yudai")); p.status != http.StatusSeeOther || p.to != "/setup/check" {
		w.t.Fatalf("created: %d to %q\n%s", p.status, p.to, p.body)
	}
}

// awaitCheck looks at the last page until it says what is wanted.
func (w *setupWorld) awaitCheck(want string) string {
	w.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.After(20 * time.Second); ; {
		p := w.get("/setup/check")
		if strings.Contains(p.body, want) {
			return p.body
		}
		select {
		case <-ticker.C:
		case <-end:
			w.t.Fatalf("the last page never says %q:\n%s", want, p.body)
		}
	}
}

// secrets are all that must never be shown, from the files.
func (w *setupWorld) secrets() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, name := range []string{"github-app.pem", "webhook-secret", "client-secret"} {
		path := filepath.Join(w.dir, "data", "secrets", name)
		data, err := os.ReadFile(path)
		w.must(err)
		info, err := os.Stat(path)
		w.must(err)
		if info.Mode().Perm() != 0o600 {
			w.t.Errorf("%s has mode %v", name, info.Mode())
		}
		out[name] = strings.TrimSpace(string(data))
	}
	pem := strings.Split(out["github-app.pem"], "\n")
	out["github-app.pem"] = pem[len(pem)/2]
	return out
}
