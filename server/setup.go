package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
)

// Setup is the server while no App is configured: pages that register one on GitHub
// and nothing else. When they are done it becomes the bot, in the same process.
//
// Who completes the set-up owns the bot. So every page needs the one-time token of
// [Setup.URL], and the pages are gone as soon as the bot serves.
type Setup struct {
	opts  Options
	where Where
	front *front
	door  door
	// asked is what the page's button sends to Run, which opens the bot.
	asked chan chan error
	// serving is closed when the bot serves.
	serving chan struct{}

	mu       sync.Mutex
	cfg      Config
	app      *ghapp.App // nil until the App is registered
	new      ghapp.Registration
	delivery arrivals
}

// Where are the places that a set-up may be given on the command line. They go before
// the configuration and are kept with the App.
type Where struct{ Address, PublicURL string }

// check reports every value that cannot work.
func (w Where) check() error {
	l := Default().Server
	l.Address, l.PublicURL = cmp.Or(w.Address, l.Address), w.PublicURL
	var all []error
	l.validate(func(key, problem string) {
		all = append(all, fmt.Errorf("--%s: %s", strings.ReplaceAll(key, "_", "-"), problem))
	})
	return errors.Join(all...)
}

// NewSetup opens the listener for a configuration without an App. What an earlier
// set-up was killed over is taken up.
func NewSetup(ctx context.Context, cfg Config, where Where, opts Options) (*Setup, error) {
	if !cfg.Bare(opts.Getenv) {
		return nil, errors.New("an App is configured already; yudai doctor checks it, and yudai serve serves as it")
	}
	cfg.Server.Address = cmp.Or(where.Address, cfg.Server.Address)
	cfg.Server.PublicURL = cmp.Or(where.PublicURL, cfg.Server.PublicURL)
	if err := where.check(); err != nil {
		return nil, err
	}
	f, err := listen(ctx, cfg.Server.Address)
	if err != nil {
		return nil, err
	}
	s := &Setup{opts: opts, where: where, cfg: cfg, front: f, asked: make(chan chan error), serving: make(chan struct{}), door: door{token: rand.Text(), now: time.Now}}
	if err := s.finish(ctx); err != nil && !errors.Is(err, errNoAnswer) {
		opts.Log.Error().Err(err).Msg("the registered App cannot be used yet; the set-up page tries again")
	}
	return s, nil
}

// Addr is where the set-up listens, host:port.
func (s *Setup) Addr() string { return s.front.listener.Addr().String() }

// URL is the address of the first page as this machine reaches it. Its token opens
// the set-up once.
func (s *Setup) URL() string {
	host, port, err := net.SplitHostPort(s.Addr())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return fmt.Sprintf("http://%s/setup?token=%s", net.JoinHostPort(host, port), s.door.token)
}

// Run serves the set-up until it is done, and then as the bot, until ctx ends.
func (s *Setup) Run(ctx context.Context) error {
	defer s.front.close()
	s.front.swap(s.routes())
	served := make(chan error, 1)
	go func() { served <- s.front.serve() }()
	for {
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config().Server.ShutdownTimeout)
			defer cancel()
			return errors.Join(s.front.shutdown(end), <-served)
		case answer := <-s.asked:
			bot, err := newServer(ctx, s.config(), s.opts, s.front)
			if err == nil {
				s.front.swap(bot.handler)
				close(s.serving)
			}
			answer <- err
			if err != nil {
				s.opts.Log.Error().Err(err).Msg("the bot cannot start yet")
				continue
			}
			s.opts.Log.Info().Msg("the set-up is done, serving as the bot")
			return errors.Join(bot.Run(ctx), <-served)
		}
	}
}

// start has Run open the bot and waits for it.
func (s *Setup) start(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case s.asked <- answer:
	case <-s.serving: // pressed twice
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Setup) config() Config {
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

// routes are all that is there during the set-up.
func (s *Setup) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("POST "+hookURL(""), s.hook)
	pages := http.NewServeMux()
	pages.HandleFunc("GET /setup", s.describe)
	pages.HandleFunc("POST /setup", s.described)
	pages.HandleFunc("GET /setup/created", s.created)
	pages.HandleFunc("GET /setup/check", s.check)
	pages.HandleFunc("POST /setup/check", s.checkAgain)
	pages.HandleFunc("POST /setup/done", s.finished)
	guarded := http.NewCrossOriginProtection().Handler(s.door.guard(pages, s.closed))
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
