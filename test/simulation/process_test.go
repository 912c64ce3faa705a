package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// process is the program from its start to its end, wired as package server does it.
type process struct {
	w      *world
	gate   *gate
	store  *bolt.Store
	intake http.Handler
	cancel context.CancelFunc
	done   chan struct{}
	errs   [2]error // of the engine and the writer, after done
}

// start is a new process on what the one before left.
func (w *world) start() {
	w.t.Helper()
	n := len(w.gates) + 1
	plan := point{}
	if n <= len(w.plan) {
		plan = w.plan[n-1]
	}
	p := &process{w: w, gate: newGate(plan, w.trace.of(n)), done: make(chan struct{})}
	w.gates = append(w.gates, p.gate)
	log := w.log.With().Int("attempt", n).Logger()
	ctx, cancel := context.WithCancel(log.WithContext(context.Background()))
	p.cancel = cancel
	w.process = p // before the first request: it may die of it
	if err := p.open(ctx, n, log); err != nil && !errors.Is(err, errDead) {
		w.t.Fatalf("start process %d: %v", n, err)
	}
}

// open puts the parts together and lets them run.
func (p *process) open(ctx context.Context, n int, log zerolog.Logger) (err error) {
	w := p.w
	defer func() {
		if err != nil {
			close(p.done)
		}
	}()
	if p.store, err = bolt.Open(w.storeConfig()); err != nil {
		return err
	}
	records := &ledger{store: p.store, gate: p.gate, mut: w.mut}
	app, err := ghapp.New(w.github, w.secrets, ghapp.Options{Transport: wire{w.hub.Transport(), p.gate, w.asked}})
	if err != nil {
		return err
	}
	who, err := app.Identity(ctx)
	if err != nil {
		return err
	}
	mirrors := git.New(filepath.Join(w.dir, "git"))
	if err := mirrors.Sweep(time.Now()); err != nil {
		return err
	}
	signer, err := bundle.New(ctx, w.bundles(), records, "simulated")
	if err != nil {
		return err
	}
	node := fmt.Sprintf("node%d", n)
	engine := solver.New(w.solver, solver.Parts{
		Store: records, Hub: eyes{app, w.repo.Dir()}, Drivers: fakesandbox.Only{Driver: &tenant{host: w.host, gate: p.gate, mut: w.mut}}, Git: mirrors,
		Agents: map[string]agent.Agent{"mini": agent.NewMini(agent.DefaultConfig())},
		Models: account{w.provider, p.gate}, Signer: signer, Node: node, Log: log,
	})
	p.intake, err = server.NewIntake(w.secrets.WebhookSecret.Reveal(), handlers.New(handlers.Options{
		Accepter: records, Bot: who.Bot, NewID: w.newID,
		Vocabulary: handlers.Vocabulary{Models: w.provider.names, Strategies: []string{"plain"}, Agents: []string{"mini"}},
	}))
	if err == nil {
		p.run(ctx, engine, ghapp.NewWriter(app, records, w.github.Write, node))
	}
	return err
}

func (p *process) run(ctx context.Context, engine *solver.Engine, writer *ghapp.Writer) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		p.errs[1] = writer.Run(ctx)
	}()
	go func() {
		defer close(p.done)
		p.errs[0] = engine.Run(ctx)
		p.cancel() // as one part's end ends the others in package server
		<-written
	}()
}

// bury waits for the end of a process that died or was told to stop, and frees the store's file.
func (p *process) bury() {
	p.w.t.Helper()
	p.cancel()
	<-p.done
	p.gate.enter() // a delivery may still be with it
	p.gate.dead = true
	p.gate.leave()
	if p.store != nil {
		p.w.must(p.store.Close())
	}
	for _, err := range p.errs {
		if err != nil && !errors.Is(err, errDead) && !errors.Is(err, solve.ErrLeaseLost) {
			p.w.problem("process %d: %v", len(p.w.gates), err)
		}
	}
}

// wire carries a process's requests to the emulator. What changes something is a boundary.
type wire struct {
	next  http.RoundTripper
	gate  *gate
	asked func(*http.Request) // told of every request; nil is nobody
}

func (c wire) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if c.asked != nil {
		c.asked(req)
	}
	ask := func() (err error) {
		resp, err = c.next.RoundTrip(req)
		return err
	}
	if req.Method != http.MethodGet {
		err = c.gate.around(req.Method+" "+req.URL.Path, ask)
	} else if err = c.gate.read(func() error { return nil }); err == nil {
		err = ask()
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// post carries GitHub's webhooks to the process of the moment, if there is one.
type post struct{ w *world }

var errRefused = errors.New("connection refused")

func (c post) RoundTrip(req *http.Request) (*http.Response, error) {
	p := c.w.process
	if p == nil || p.intake == nil || p.gate.gone() {
		return nil, errRefused
	}
	out := httptest.NewRecorder()
	p.intake.ServeHTTP(out, req.Clone(p.w.log.WithContext(req.Context())))
	if p.gate.gone() {
		return nil, errRefused
	}
	return out.Result(), nil
}

// eyes are what the engine reads from GitHub, as package server gives it; the
// clone comes from the emulator's directory, since git's own client needs a socket.
type eyes struct {
	*ghapp.App
	dir string
}

func (e eyes) Config(ctx context.Context, repo solve.Repo, sha string) (string, []byte, error) {
	return e.RepoConfig(ctx, repo, sha)
}

func (e eyes) Clone(ctx context.Context, repo solve.Repo) (string, git.Auth, func(context.Context) error, error) {
	_, release, err := e.App.Clone(ctx, repo)
	return e.dir, git.Auth{}, release, err
}
