// Package githubsim is an emulator of the part of GitHub that yudai uses: apps
// and installation tokens, issues, comments, labels, reactions, check runs,
// pull requests, Git Data, git over HTTP, signed webhooks with their delivery
// log, and a few pages to look at the result. State lives in memory,
// repositories are real bare ones on disk, and a fault script makes it
// misbehave the way GitHub does.
//
// A [Hub] is an [http.Handler]; [Hub.Serve] puts it on a listener and
// [Hub.Transport] calls it in process, without sockets, for testing/synctest.
// It needs no testing.T: tests, the demo and the command line use the same one.
package githubsim

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// TokenShape is the form of the installation tokens that are handed out.
type TokenShape int

// The two forms GitHub uses, and both in turn. A request's header
// X-GitHub-Stateless-S2S-Token overrides the option.
const (
	// TokenClassic is ghs_ and 36 letters and digits.
	TokenClassic TokenShape = iota
	// TokenStateless is ghs_, the app's id, and a JWT: about 520 characters.
	TokenStateless
	// TokenAlternate hands out the two forms in turn.
	TokenAlternate
)

// Options configure a Hub; the zero value is ready to use.
type Options struct {
	// Dir holds the bare repositories; empty makes a temporary one that Close removes.
	Dir string
	// APIPrefix is the path of the REST API: "" as on github.com's API host, or
	// "/api/v3" as on Enterprise Server. Pages and git are always at the root.
	APIPrefix string
	// BaseURL begins every URL in answers and payloads, without a slash at the
	// end. Serve sets it from the listener when it is empty.
	BaseURL string
	// Now is the clock; nil is time.Now. See also Hub.Advance.
	Now func() time.Time
	// Log gets a line per request and delivery; the zero value is silent.
	Log zerolog.Logger
	// Tokens is the form of installation tokens.
	Tokens TokenShape
	// RateLimit is the number of requests an installation or app has per hour; 0 is 5,000.
	RateLimit int
	// WritesPerMinute and WritesPerHour refuse content creation beyond them with
	// a secondary limit; 0 does not limit. GitHub's values are about 80 and 500.
	WritesPerMinute, WritesPerHour int
	// WebhookTransport sends webhooks; nil is http.DefaultTransport.
	WebhookTransport http.RoundTripper
	// HistoryFile, if set, gets every record of the history as a JSON line,
	// on disk before the request is answered.
	HistoryFile string
	// NoWebhookSecret makes no secret for an App that is registered from a manifest.
	NoWebhookSecret bool
	// AppKey is the key of Apps registered from a manifest; nil makes one for each.
	AppKey *rsa.PrivateKey
	// NoDrafts refuses draft pull requests, as plans without them do.
	NoDrafts bool
}

// Hub is the emulator. All methods may be called concurrently.
type Hub struct {
	opts    Options
	routes  []route
	mu      sync.Mutex // guards what follows
	offset  time.Duration
	base    string
	dir     string
	ownDir  bool
	closed  bool
	servers []*http.Server
	changed chan struct{} // closed and replaced at every change
	flying  int           // requests being answered

	seq      int64 // last id given out
	users    map[string]*user
	apps     map[int64]*app
	codes    map[string]*conversion // of Apps whose secrets have not been fetched
	installs map[int64]*installation
	tokens   map[string]*token
	grants   map[string]*grant       // of people who sign in, by code
	persons  map[string]*personToken // by the token
	minted   int
	repos    map[string]*repo
	budgets  map[string]*budget
	lag      time.Duration
	missing  bool            // just-created objects answer 404 once
	fresh    map[string]bool // paths that will answer 404 once

	faults     []*Injection
	disturbs   []*Disturbance
	history    []Record
	historyOut *os.File
}

// New makes a hub. It cannot fail: what can go wrong with the directory or the
// history file is reported by the first call that needs it.
func New(opts Options) *Hub {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.RateLimit == 0 {
		opts.RateLimit = 5000
	}
	if opts.WebhookTransport == nil {
		opts.WebhookTransport = http.DefaultTransport
	}
	opts.APIPrefix = strings.TrimSuffix(opts.APIPrefix, "/")
	h := &Hub{
		opts:     opts,
		base:     strings.TrimSuffix(opts.BaseURL, "/"),
		dir:      opts.Dir,
		changed:  make(chan struct{}),
		seq:      1000,
		users:    map[string]*user{},
		apps:     map[int64]*app{},
		codes:    map[string]*conversion{},
		installs: map[int64]*installation{},
		tokens:   map[string]*token{},
		grants:   map[string]*grant{},
		persons:  map[string]*personToken{},
		repos:    map[string]*repo{},
		budgets:  map[string]*budget{},
		fresh:    map[string]bool{},
	}
	h.routes = apiRoutes()
	return h
}

// URL is the root of pages and git, without a slash at the end.
func (h *Hub) URL() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.url()
}

func (h *Hub) url() string {
	if h.base == "" {
		return "http://github.test"
	}
	return h.base
}

// APIURL is the root of the REST API, with a slash at the end as go-github wants it.
func (h *Hub) APIURL() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.api() + "/"
}

func (h *Hub) api() string { return h.url() + h.opts.APIPrefix }

// SetBaseURL changes the root of every URL, for callers with a listener of their own.
func (h *Hub) SetBaseURL(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base = strings.TrimSuffix(url, "/")
}

// Serve answers on l until Close; it returns nil after Close.
func (h *Hub) Serve(l net.Listener) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return l.Close()
	}
	if h.base == "" {
		h.base = "http://" + l.Addr().String()
	}
	h.servers = append(h.servers, server)
	h.mu.Unlock()
	if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve emulator: %w", err)
	}
	return nil
}

// Close stops listeners, ends deliveries that have not been sent, and removes
// the directory if New made it. It may be called twice.
func (h *Hub) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	servers := h.servers
	for _, a := range h.apps {
		a.queue = nil
	}
	h.signal()
	h.mu.Unlock()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.historyOut != nil {
		errs = append(errs, h.historyOut.Close())
	}
	if h.ownDir {
		errs = append(errs, os.RemoveAll(h.dir))
	}
	return errors.Join(errs...)
}

// Advance moves the hub's clock forward, for token expiry and rate limits.
func (h *Hub) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offset += d
	h.signal()
}

func (h *Hub) now() time.Time { return h.opts.Now().Add(h.offset).UTC() }

// id gives out the next object id; ids grow over all kinds of objects.
func (h *Hub) id() int64 {
	h.seq++
	return h.seq
}

// signal wakes everybody who waits for a change.
func (h *Hub) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// root is the directory of the repositories, made when first needed.
func (h *Hub) root() (string, error) {
	if h.dir == "" {
		dir, err := os.MkdirTemp("", "githubsim-")
		if err != nil {
			return "", fmt.Errorf("make repository directory: %w", err)
		}
		h.dir, h.ownDir = dir, true
	}
	return h.dir, nil
}

// ServeHTTP answers API calls, git and pages.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.flying++
	fault := h.faultFor(r)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.flying--
		h.signal()
		h.mu.Unlock()
	}()
	if fault != nil && fault.before(h, w, r) {
		return
	}
	answer := w
	var held *holder
	if fault != nil && fault.holds() {
		held = &holder{header: http.Header{}}
		answer = held
	}
	h.serve(answer, r)
	if held != nil {
		fault.after(w, r)
	}
}

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case isGit(r.URL.Path):
		h.serveGit(w, r)
	case h.isAPI(r.URL.Path):
		h.serveAPI(w, r)
	default:
		h.servePage(w, r)
	}
}

// isAPI tells API paths from pages. Without a prefix both share the root, as
// they do nowhere at GitHub, and the first segment decides.
func (h *Hub) isAPI(path string) bool {
	if h.opts.APIPrefix != "" {
		return strings.HasPrefix(path, h.opts.APIPrefix+"/")
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "repos", "app", "app-manifests", "user", "users", "installation", "rate_limit":
		return true
	}
	return false
}
