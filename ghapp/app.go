package ghapp

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/failpoint"
)

// maxClients bounds the clients kept of an installation; they are cheap to make again.
const maxClients = 1024

// Options are what tests and the demo replace.
type Options struct {
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock of limits and pacing; nil is time.Now.
	Now func() time.Time
}

// App is the GitHub App signed in. It is safe for concurrent use.
type App struct {
	cfg   Config
	id    int64
	key   *rsa.PrivateKey
	base  http.RoundTripper
	now   func() time.Time
	api   *url.URL // with a trailing slash
	hosts []string

	asApp *github.Client

	mu       sync.Mutex
	kept     map[int64]*keptState // by installation; 0 is the App itself
	identity *Identity
}

// keptState is what an App keeps of an installation.
type keptState struct {
	backoff *limitBackoff
	clients map[scope]*github.Client
	// grants are the permissions that the account granted; nil if GitHub has refused none so far.
	grants *github.InstallationPermissions
	evicts uint64 // counts the calls of Evict
}

// New makes an App. It makes no request.
func New(cfg Config, secrets Secrets, opts Options) (*App, error) {
	key, err := parseKey(secrets.PrivateKey.Reveal())
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	if secrets.AppID <= 0 {
		return nil, errors.New("the App's id is missing")
	}
	a, err := unsigned(cfg, opts)
	if err != nil {
		return nil, err
	}
	a.id, a.key = secrets.AppID, key
	a.asApp = a.newClient(a.signer(a.backoff(0)), "application")
	return a, nil
}

// unsigned makes an App that has no key yet.
func unsigned(cfg Config, opts Options) (*App, error) {
	api, err := url.Parse(strings.TrimSuffix(cfg.V3APIURL, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("parse v3_api_url: %w", err)
	}
	a := &App{cfg: cfg, base: opts.Transport, now: opts.Now, api: api, hosts: []string{api.Host}, kept: map[int64]*keptState{}}
	if v4, err := url.Parse(cfg.V4APIURL); err == nil && v4.Host != "" {
		a.hosts = append(a.hosts, v4.Host)
	}
	if a.base == nil {
		a.base = http.DefaultTransport
	}
	a.base = failpoint.Transport("github", a.base)
	if a.now == nil {
		a.now = time.Now
	}
	return a, nil
}

// of returns what is kept of an installation. The caller holds a.mu.
func (a *App) of(installation int64) *keptState {
	k := a.kept[installation]
	if k == nil {
		k = &keptState{backoff: &limitBackoff{now: a.now}, clients: map[scope]*github.Client{}}
		a.kept[installation] = k
	}
	return k
}

func (a *App) backoff(installation int64) *limitBackoff {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(installation).backoff
}

// limited is the base transport under a rate-limit backoff.
func (a *App) limited(b *limitBackoff) http.RoundTripper {
	return &limitTransport{next: a.base, backoff: b, hosts: a.hosts}
}

// signer signs requests with the App's own JWT.
func (a *App) signer(b *limitBackoff) *ghinstallation.AppsTransport {
	tr := ghinstallation.NewAppsTransportFromPrivateKey(a.limited(b), a.id, a.key)
	tr.BaseURL = strings.TrimSuffix(a.api.String(), "/")
	return tr
}

// newClient has no timeout of its own: every call here has a deadline in its context.
func (a *App) newClient(tr http.RoundTripper, details string) *github.Client {
	c := github.NewClient(&http.Client{Transport: tr, CheckRedirect: sameMethod})
	c.BaseURL = a.api
	c.UserAgent = userAgent + " (" + details + ")"
	return c
}

// sameMethod follows a redirect only with the same method: net/http turns a
// redirected POST into a GET, whose answer would look like the created thing.
func sameMethod(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Evict forgets every client of an installation: its permissions changed, or it is
// gone. The next call gets a new token, and effects that wait for a permission are
// tried again.
func (a *App) Evict(installation int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.of(installation)
	k.evicts++
	k.grants = nil
	clear(k.clients)
}

// evicted counts the calls of Evict.
func (a *App) evicted(installation int64) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(installation).evicts
}

// PausedUntil is when the rate limit of an installation ends; a past time means none.
func (a *App) PausedUntil(installation int64) time.Time {
	return a.backoff(installation).pausedUntil()
}

// asAppDo calls GitHub as the App itself.
func (a *App) asAppDo(ctx context.Context, action string, do request) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Write.Timeout)
	defer cancel()
	if err := do(ctx, a.asApp); err != nil {
		return wrap(action, err)
	}
	return nil
}
