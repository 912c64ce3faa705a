package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/setup"
)

// Setup is the server while no App is configured: the pages of package setup and nothing
// else. When they are done it becomes the bot, in the same process, and the pages are gone.
type Setup struct {
	cfg     Config
	opts    Options
	front   *front
	pages   *setup.Setup
	asked   chan startRequest
	serving chan struct{} // closed when the bot serves
}

// startRequest asks Run to open the bot.
type startRequest struct {
	app    setup.App
	answer chan error
}

// Where are the addresses that a set-up may be given on the command line. They take precedence
// over the configuration and are kept with the App.
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

// NewSetup opens the listener for a configuration without an App.
func NewSetup(ctx context.Context, cfg Config, where Where, opts Options) (*Setup, error) {
	if !cfg.Bare(opts.Getenv) {
		return nil, errors.New("an App is configured already; yudai doctor checks it, and yudai serve serves as it")
	}
	cfg.Server.Address = cmp.Or(where.Address, cfg.Server.Address)
	cfg.Server.PublicURL = cmp.Or(where.PublicURL, cfg.Server.PublicURL)
	if err := where.check(); err != nil {
		return nil, err
	}
	cfg.changedSince(commandLine)
	f, err := listen(ctx, cfg.Server.Address)
	if err != nil {
		return nil, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Setup{cfg: cfg, opts: opts, front: f, asked: make(chan startRequest), serving: make(chan struct{})}
	s.pages = setup.New(ctx, setup.Options{
		App: cfg.app(), Address: where.Address, Label: cfg.Server.Label, Log: opts.Log, Transport: opts.Transport,
		Intake: NewIntake, Start: s.start, Healthz: healthz, Now: opts.Now,
	})
	return s, nil
}

// Addr is where the set-up listens, host:port.
func (s *Setup) Addr() string { return s.front.listener.Addr().String() }

// URL is the address of the first page as this machine reaches it. Its token opens
// the set-up once.
func (s *Setup) URL() string {
	return "http://" + reachable(s.Addr()) + "/setup?token=" + s.pages.Token()
}

// Run serves the set-up until it is done, and then as the bot, until ctx ends.
func (s *Setup) Run(ctx context.Context) error {
	defer s.front.close()
	s.front.swap(s.pages.Handler())
	served := make(chan error, 1)
	go func() { served <- s.front.serve() }()
	for {
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Server.ShutdownTimeout)
			defer cancel()
			return errors.Join(s.front.shutdown(end), <-served)
		case r := <-s.asked:
			bot, err := newServer(ctx, s.cfg.with(r.app), s.opts, s.front)
			if err == nil {
				s.front.swap(bot.handler)
				close(s.serving)
			}
			r.answer <- err
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
func (s *Setup) start(ctx context.Context, app setup.App) error {
	answer := make(chan error, 1)
	select {
	case s.asked <- startRequest{app, answer}:
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

// app is the part of the configuration that the set-up fills in.
func (c Config) app() setup.App {
	return setup.App{Dir: c.Store.dir(), PublicURL: c.Server.PublicURL, GitHub: c.GitHub}
}

// bundles is the directory of the signing key and the statements.
func (c Config) bundles() string { return filepath.Join(c.Store.dir(), "bundles") }

// with is the configuration with that part filled in.
func (c Config) with(a setup.App) Config {
	c.Server.PublicURL, c.GitHub = a.PublicURL, a.GitHub
	c.changedSince(a.File())
	return c
}

// Bare says that no App is configured at all, not even in part: the time for the set-up.
func (c Config) Bare(getenv func(string) string) bool { return c.app().Bare(getenv) }

// adopt fills in the App that the set-up registered, unless the configuration names
// one itself; of the other keys it fills in what is at its default.
func (c *Config) adopt(getenv func(string) string) error {
	a := c.app()
	if a.Named(getenv) {
		return nil
	}
	settings, problems, err := a.Read()
	if err != nil || problems == nil {
		return err
	}
	if err := problems.Err(a.File()); err != nil {
		return err
	}
	a.Take(settings)
	*c = c.with(a)
	if given := settings.Server.Address; given != "" && c.Server.Address == Default().Server.Address {
		c.Server.Address = given
		c.changedSince(a.File())
	}
	c.Validate(problems.Report)
	return problems.Err(a.File())
}
