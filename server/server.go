// Package server puts the program together: configuration, wiring, listener,
// routes, shutdown order. It is the only package that knows them all.
package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/xid"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/reconcile"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/setup"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/web"
)

// Options are what a server gets beside its configuration.
type Options struct {
	Getenv func(string) string
	Log    zerolog.Logger
	// Transport reaches GitHub; nil is the default one.
	Transport http.RoundTripper
	// Now is the clock of the set-up; nil is time.Now.
	Now func() time.Time
	// Bundles is the directory of the signing key and the statements; "" is the one beside the store.
	Bundles string
	// Committer is named as the committer of champions on this machine; nil leaves that to GitHub.
	Committer *Person
}

// Person is whom a commit names. An empty one is yudai itself.
type Person = ghapp.Person

// Server is the whole program, listening. Run serves until its context ends.
type Server struct {
	cfg        Config
	log        zerolog.Logger
	store      store
	home       *os.File // locked, if the store is no file; else nil
	drivers    *drivers.Set
	app        *ghapp.App
	identity   *identity
	engine     *solver.Engine
	bundles    *bundle.Signer
	gateway    *gateway.Gateway
	writer     *ghapp.Writer
	reconciler *reconcile.Reconciler
	pages      *web.Pages
	models     *model.Set
	checkup    *checkup
	metrics    *metrics
	ready      *readiness
	// metricsListener is that of server.metrics_address; nil if there is none.
	metricsListener net.Listener
	front           *front
	handler         http.Handler
}

// Stage must be the first thing a program that opens sandboxes does: a process
// started for the inside of a sandbox never returns from it.
func Stage() { drivers.Stage() }

// New checks everything that can be checked before work starts, opens the
// store and the listener, and returns a server that Run starts. All problems
// with secrets are reported at once.
func New(ctx context.Context, cfg Config, opts Options) (*Server, error) {
	return newServer(ctx, cfg, opts, nil)
}

// newServer is New behind a front that listens already, if it is not nil.
func newServer(ctx context.Context, cfg Config, opts Options, f *front) (*Server, error) {
	ctx = opts.Log.WithContext(ctx)
	cfg.changedSince(commandLine)
	s := &Server{cfg: cfg, log: opts.Log, metrics: newMetrics()}
	if err := s.open(ctx, opts, f); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open(ctx context.Context, opts Options, f *front) error {
	secrets, err := setup.Secrets(s.cfg.GitHub, opts.Getenv)
	if err != nil {
		return err
	}
	if err := s.openDrivers(ctx); err != nil {
		return err
	}
	models, err := model.NewSet(s.cfg.Models, opts.Getenv, model.WithTransport(failpoint.Transport("model", http.DefaultTransport)),
		model.WithObserver(s.metrics.health.model))
	if err != nil {
		return err
	}
	s.models = models
	if s.gateway, err = gateway.New(s.cfg.Gateway, models, s.cfg.Server.PublicURL, s.log, gateway.WithCounter(s.metrics.relayed)); err != nil {
		return err
	}
	s.warnOf(models)
	if s.store, err = s.openStore(ctx, secrets.AppID, opts.Getenv); err != nil {
		return err
	}
	app, err := ghapp.New(s.cfg.GitHub, secrets, ghapp.Options{Transport: s.metrics.transport(opts.Transport)})
	if err != nil {
		return err
	}
	s.app = app
	if s.identity, err = identify(ctx, app, secrets.AppID, s.cfg.Store.dir()); err != nil {
		return err
	}
	if err := s.cfg.app().ForgetAnswer(); err != nil {
		return err
	}
	if s.bundles, err = bundle.New(ctx, cmp.Or(opts.Bundles, s.cfg.bundles()), s.store, Version()); err != nil {
		return err
	}
	node := xid.New().String()
	if err := s.newEngine(models, node); err != nil {
		return err
	}
	s.writer = ghapp.NewWriter(app, s.store, s.cfg.GitHub.Write, node)
	s.writer.Counted = s.metrics.written
	s.writer.Committer = opts.Committer
	if s.cfg.GitHub.SignCommits {
		s.writer.Sign = s.bundles.SignCommit
	}
	events := func(store handlers.Accepter) []githubapp.EventHandler {
		return handlers.New(handlers.Options{
			Accepter: countingAccepter{store, s.metrics}, Self: s.identity.name, AppID: secrets.AppID, Evict: app.Evict,
			Labels: s.cfg.labels(), LabelPrefix: s.cfg.labelPrefix(),
			Keep: s.cfg.Store.KeepDeliveries, ReviseOnReview: s.cfg.Server.ReviseOnReview, Vocabulary: s.cfg.openVocabulary(),
		})
	}
	s.reconciler = &reconcile.Reconciler{
		Config: s.cfg.GitHub.Recovery, Lag: s.cfg.GitHub.Write.ListLag, App: app, Store: s.store, Writer: s.writer,
		Handlers: events, Labels: s.cfg.labels(), Branch: s.cfg.Solver.Branch,
	}
	s.ready = &readiness{store: s.store, engine: s.engine, log: onceAMinute(s.log)}
	s.metrics.add(newStateMetrics(s.store, app.RequestsLeft, s.writer.WritesLeft))
	if s.handler, err = s.routes(events(s.store), secrets, app, opts.Getenv); err != nil {
		return err
	}
	return s.listen(ctx, f)
}

// newEngine makes the engine, and sweeps its mirrors of repositories.
func (s *Server) newEngine(models *model.Set, node string) error {
	mirrors := git.New(filepath.Join(s.cfg.Store.dir(), "git"))
	if err := mirrors.Sweep(time.Now()); err != nil {
		return err
	}
	s.engine = solver.New(s.cfg.Solver, solver.Parts{
		Store: s.store, Hub: hub{s.app}, Drivers: s.drivers, Git: mirrors, Label: s.cfg.Server.Label,
		Agents: s.cfg.agents(s.metrics.queried), Models: models, Gateway: s.gateway, Signer: s.bundles, Node: node, Log: s.log,
	})
	return nil
}

// listen opens the listeners. A front that is not nil listens already.
func (s *Server) listen(ctx context.Context, f *front) (err error) {
	if a := s.cfg.Server.MetricsAddress; a != "" {
		if s.metricsListener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", a); err != nil {
			return fmt.Errorf("listen on server.metrics_address: %w", err)
		}
	}
	if s.front = f; f == nil {
		s.front, err = listen(ctx, s.cfg.Server.Address)
	}
	return err
}

// warnOf says which models a solve that names none would fail for: better at the
// start than in the answer to the first label.
func (s *Server) warnOf(models *model.Set) {
	for _, name := range s.cfg.Solver.Defaults.Models {
		if err := models.Ready(name); err != nil {
			s.log.Warn().Err(err).Msg("a model of solver.defaults cannot be used")
		}
	}
}

// Addr is where the server listens, host:port.
func (s *Server) Addr() string { return s.front.listener.Addr().String() }

// Run serves until ctx ends: then the intake stops, the workers stop where
// their stored state lets the next process go on, and the store is closed.
func (s *Server) Run(ctx context.Context) error {
	defer s.close()
	s.front.swap(s.handler)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, gctx := errgroup.WithContext(work)
	group.Go(s.front.serve)
	group.Go(func() error { return s.engine.Run(gctx) })
	group.Go(func() error { return s.ready.write(func() error { return s.writer.Run(s.log.WithContext(gctx)) }) })
	group.Go(func() error { return s.housekeep(gctx) })
	group.Go(func() error { return s.identity.keepAsking(s.log.WithContext(gctx)) })
	group.Go(func() error { return s.serveMetrics(gctx) })
	group.Go(func() error { return s.checkup.run(gctx) })
	group.Go(func() error { return s.reconciler.Run(s.log.WithContext(gctx)) })
	group.Go(func() error {
		select {
		case <-ctx.Done():
		case <-gctx.Done():
		}
		s.ready.ending.Store(true)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Server.ShutdownTimeout)
		defer cancel()
		s.pages.Stop()
		s.gateway.Stop() // its streams would hold the front up; agents call again when the next process is there
		err := s.front.shutdown(end)
		stop()
		return err
	})
	return group.Wait()
}

// housekeep removes what is older than the store's retention, at start and every hour.
func (s *Server) housekeep(ctx context.Context) error {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		if err := s.store.Prune(ctx, time.Now()); err != nil && ctx.Err() == nil {
			s.log.Error().Err(err).Msg("store not pruned")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *Server) close() {
	if s.front != nil {
		s.front.close()
	}
	if s.metricsListener != nil {
		_ = s.metricsListener.Close()
	}
	if s.gateway != nil { // calls that are under way are settled in the store
		_ = s.gateway.Close()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Error().Err(err).Msg("store not closed")
		}
	}
	if s.home != nil {
		_ = s.home.Close()
	}
}

// Watch signals, coalesced, that something in the store changed.
func (s *Server) Watch(ctx context.Context) <-chan struct{} { return s.store.Watch(ctx) }

// Latest is the newest solve of an issue with its runs; solve.ErrNotFound if there is none.
func (s *Server) Latest(ctx context.Context, repoID int64, issue int) (report.View, error) {
	v := report.View{}
	var err error
	if v.Solve, err = s.store.LatestSolve(ctx, repoID, issue); err != nil {
		return v, err
	}
	v.Runs, err = s.store.Runs(ctx, v.Solve.ID)
	return v, err
}

// Settled reports whether every effect of the solve has been written (or refused for good).
func (s *Server) Settled(ctx context.Context, id solve.ID) (bool, error) {
	effects, err := s.store.SolveEffects(ctx, id)
	effects = append(effects, s.refusal(ctx, id)...)
	for _, f := range effects {
		if f.State == solve.EffectPending || f.State == solve.EffectSending {
			return false, err
		}
	}
	return true, err
}

// refusal is what somebody without the right to ask was told. It belongs to the person
// and the issue, not to one solve.
func (s *Server) refusal(ctx context.Context, id solve.ID) (told []solve.Effect) {
	v, err := s.store.Solve(ctx, id)
	if err != nil || !v.Denied {
		return nil
	}
	for _, kind := range []solve.EffectKind{solve.EffectReact, solve.EffectReply} {
		if f, err := s.store.Effect(ctx, solve.DeniedReplyID(v.Repo, v.Issue.Number, v.Trigger.Actor)+"/"+string(kind)); err == nil {
			told = append(told, f)
		}
	}
	return told
}

// Record exports a solve.
func (s *Server) Record(ctx context.Context, id solve.ID) (solve.Record, error) {
	return s.engine.Record(ctx, id)
}

// Bundle finds the signed bundle of a solve and returns what writes it; solve.ErrNotFound if there is none.
func (s *Server) Bundle(ctx context.Context, id solve.ID) (write func(io.Writer) error, err error) {
	return s.bundles.Export(ctx, id)
}

// Traits are those of the default sandbox driver.
func (s *Server) Traits() sandbox.Traits { return s.drivers.All()[0].Traits() }

// hub gives the solver what it reads from GitHub, in its own words.
type hub struct{ *ghapp.App }

func (h hub) Config(ctx context.Context, repo solve.Repo, sha string) (string, []byte, error) {
	return h.RepoConfig(ctx, repo, sha)
}

func (h hub) Clone(ctx context.Context, repo solve.Repo) (string, git.Auth, func(context.Context) error, error) {
	a, release, err := h.App.Clone(ctx, repo)
	if err != nil {
		return "", git.Auth{}, nil, err
	}
	return a.URL, git.Auth{User: "x-access-token", Password: a.Token.Reveal()}, release, nil
}

// leanPercent is how much garbage may gather beside what is in use, in percent.
// With the language's default, 100, a process with a thousand runs takes a
// quarter more memory and a twentieth less processor time.
const leanPercent = 50

// Lean makes this process prefer little memory to the last bit of speed: it waits
// for models, GitHub and test suites, beside which it should not be noticed. What
// the start took is given back. An operator's GOGC is obeyed.
func Lean(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(leanPercent)
	}
	debug.FreeOSMemory()
}
