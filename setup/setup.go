// Package setup gets a new installation to work: pages that register the GitHub App, and the
// doctor, which checks the machine, the configuration and the App.
package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
)

// Options are what a set-up gets. All but Address and Transport are required.
type Options struct {
	App     App
	Address string // of the command line; it is kept with the App
	Label   string // that asks for a solve
	Log     zerolog.Logger
	// Transport reaches GitHub; nil is the default one.
	Transport http.RoundTripper
	// Intake is the handler of webhooks, which checks their signatures.
	Intake func(secret string, events []githubapp.EventHandler) (http.Handler, error)
	// Start has the process serve as the bot with the registered App.
	Start   func(ctx context.Context, app App) error
	Healthz http.HandlerFunc
	Now     func() time.Time
}

// Setup are the pages that register an App on GitHub. When they are done they start the bot.
//
// Who completes the set-up owns the bot. So every page needs the one-time token.
type Setup struct {
	opts    Options
	session session

	mu       sync.Mutex
	cfg      App
	app      *ghapp.App // nil until the App is registered
	new      ghapp.Registration
	delivery arrivals
}

// New makes the pages. It goes on where an earlier set-up was killed.
func New(ctx context.Context, opts Options) *Setup {
	s := &Setup{opts: opts, cfg: opts.App, session: session{token: rand.Text(), now: opts.Now}}
	if err := s.finish(ctx); err != nil && !errors.Is(err, errNoAnswer) {
		opts.Log.Error().Err(err).Msg("the registered App cannot be used yet; the set-up page tries again")
	}
	return s
}

// Token opens the set-up once, as the parameter token of the first page.
func (s *Setup) Token() string { return s.session.token }

func (s *Setup) config() App {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// registered is the App, once there is one.
func (s *Setup) registered() (*ghapp.App, ghapp.Registration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app, s.new
}

// Handler answers everything during the set-up.
func (s *Setup) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.opts.Healthz)
	mux.HandleFunc("POST "+hookURL(""), s.hook)
	pages := http.NewServeMux()
	pages.HandleFunc("GET /setup", s.describe)
	pages.HandleFunc("POST /setup", s.described)
	pages.HandleFunc("GET /setup/created", s.created)
	pages.HandleFunc("GET /setup/check", s.check)
	pages.HandleFunc("POST /setup/check", s.checkAgain)
	pages.HandleFunc("POST /setup/done", s.finished)
	guarded := http.NewCrossOriginProtection().Handler(s.session.guard(pages, s.closed))
	mux.Handle("/setup", guarded)
	mux.Handle("/setup/", guarded)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		mux.ServeHTTP(w, r.WithContext(s.opts.Log.WithContext(r.Context())))
	})
}

// refused logs why a step failed and shows it, with a way to begin again.
func (s *Setup) refused(w http.ResponseWriter, r *http.Request, status int, err error, text string) {
	if err != nil {
		zerolog.Ctx(r.Context()).Error().Err(err).Msg("a step of the set-up failed")
	}
	s.show(w, status, "message", map[string]any{"Title": "That did not work", "Text": text, "Again": "/setup"})
}
