package solver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// world is all that an engine needs, in one bubble of fake time: a real store,
// git and agent, and a fake GitHub, machine and model.
type world struct {
	*testing.T
	cfg     solver.Config
	dir     string // of the store
	store   *bolt.Store
	hub     *hub
	machine *machine
	driver  *boxes
	second  *boxes // nil in most worlds
	choose  func(first, second sandbox.Driver) sandboxes.Drivers
	models  *models
	agents  map[string]agent.Agent
	doors   *doors        // nil in most worlds
	bundles string        // directory of the signer
	signs   solver.Signer // instead of the real one; nil in most worlds
	git     *git.Cache
	procs   []*process
	made    int    // solves
	said    int    // asks
	closing string // a commit of the origin
}

// bubble runs a test in fake time. After it, every solve that the test made has
// ended, and no sandbox or base is left.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	origin, err := theOrigin()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, origin)
		test(w)
		w.end()
	})
}

func newWorld(t *testing.T, o origin) *world {
	w := &world{T: t, cfg: solver.DefaultConfig(), git: git.New(filepath.Join(t.TempDir(), "git"))}
	w.cfg.Defaults = solver.Matrix{Models: []string{"good"}, Strategies: []string{"plain"}, Agents: []string{"mini"}, Repeat: 1}
	w.cfg.Tests.Command, w.cfg.Tests.Format = testCommand, "exit"
	w.cfg.SweepEvery = 24 * time.Hour
	w.machine = &machine{counts: map[string]int{}, hooks: map[string]fakesandbox.Func{}}
	w.driver = &boxes{Driver: fakesandbox.New(w.machine.answer), from: map[string]string{}}
	w.closing = o.closing
	w.hub = &hub{role: "write", write: true, open: true, url: o.path, sha: o.sha, calls: map[string]int{}, faults: map[string][]error{}, always: map[string]error{}}
	w.models = &models{calls: map[string]int{}, unready: map[string]error{}, opens: map[string]error{}}
	w.agents = map[string]agent.Agent{"mini": agent.NewMini(agent.DefaultConfig())}
	for _, name := range []string{"good", "bad", "norun", "slow", "disk"} {
		w.play(name, run("write "+name))
	}
	w.play("idle")
	cfg := bolt.DefaultConfig()
	w.dir = memory(t)
	cfg.Path = filepath.Join(w.dir, "yudai.db")
	w.bundles = filepath.Join(w.dir, "bundles")
	var err error
	w.store, err = bolt.Open(cfg)
	w.must(err)
	t.Cleanup(func() { w.must(w.store.Close()) })
	t.Cleanup(func() {
		for _, p := range w.procs {
			p.stop()
		}
	})
	return w
}

// memory is a directory that takes no time to sync, where there is one: what a
// power cut does to files is the store's own tests.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "yudai-solver-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// play makes a model of that name that says the steps and then submits.
func (w *world) play(name string, steps ...scripted.Step) {
	w.models.names = append(w.models.names, name)
	w.models.plays = append(w.models.plays, scripted.Play{Match: scripted.Match{Model: name}, Steps: steps})
}

// run is a step with one command.
func run(command string) scripted.Step { return scripted.Step{Run: &command} }

// dear is a step that costs as many millionths of a dollar.
func dear(cost int64, command string) scripted.Step {
	return scripted.Step{Run: &command, Usage: &scripted.Usage{Input: cost}}
}

// process is one engine.
type process struct {
	w      *world
	node   string
	engine *solver.Engine
	store  *ledger
	driver *tenant
	other  *tenant // in the second driver
	cancel context.CancelFunc
	done   chan struct{}
	err    error // after done
}

// process makes an engine that is not started yet.
func (w *world) process(node string) *process {
	p := &process{w: w, node: node, store: &ledger{Store: w.store}, driver: &tenant{boxes: w.driver}, done: make(chan struct{})}
	p.engine = solver.New(w.cfg, solver.Parts{
		Store: p.store, Hub: w.hub, Drivers: p.drivers(), Git: w.git, Agents: w.agents, Models: w.models,
		Gateway: p.gateway(), Signer: p.signer(), Node: node, Label: "yudai:solve", Log: zerolog.New(zerolog.NewTestWriter(w.T)).With().Str("node", node).Logger(),
	})
	return p
}

// gateway is the world's, if it has one.
func (p *process) gateway() solver.Gateway {
	if p.w.doors == nil {
		return nil
	}
	return p.w.doors
}

// signer is the real one, on the store of the process, unless the world has another.
func (p *process) signer() solver.Signer {
	if p.w.signs != nil {
		return p.w.signs
	}
	return p.w.signer(p.store)
}

// drivers are those of the process.
func (p *process) drivers() sandboxes.Drivers {
	if p.w.second == nil {
		return fakesandbox.Only{Driver: p.driver}
	}
	p.other = &tenant{boxes: p.w.second}
	return p.w.choose(p.driver, p.other)
}

// run starts the engine.
func (p *process) run() *process {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.w.procs = append(p.w.procs, p)
	go func() {
		defer close(p.done)
		p.err = p.engine.Run(ctx)
	}()
	return p
}

// start is a process that runs.
func (w *world) start(node string) *process { return w.process(node).run() }

// stop ends the process as a signal would and returns what Run returned.
func (p *process) stop() error {
	p.cancel()
	<-p.done
	return p.err
}

// kill ends the process as a power cut would: nothing it does from now on has any effect.
func (p *process) kill() {
	p.store.kill()
	p.driver.kill()
	if p.other != nil {
		p.other.kill()
	}
	p.cancel()
	<-p.done
}

// ask stores a solve of the default repository, of another issue each time.
func (w *world) ask(change ...func(*solve.Solve)) solve.ID {
	w.Helper()
	w.made++
	s := solve.Solve{
		ID:      solve.ID(fmt.Sprintf("solve%015d", w.made)),
		Repo:    solve.Repo{Installation: 1, ID: 7, Owner: "octo", Name: "project", DefaultBranch: "main"},
		Issue:   solve.Issue{Number: w.made, Title: "It is wrong", Body: "Make it right.", Author: "ann"},
		Trigger: solve.Trigger{Kind: solve.TriggerLabel, Key: fmt.Sprintf("key%d", w.made), Actor: "ann", At: time.Now()},
		Created: time.Now(),
	}
	for _, c := range change {
		c(&s)
	}
	s, created, err := w.store.Create(w.Context(), s)
	w.must(err)
	if !created {
		w.Fatalf("solve %s was not created", s.ID)
	}
	return s.ID
}

// models asks for these.
func with(models ...string) func(*solve.Solve) {
	return func(s *solve.Solve) { s.Request.Models = models }
}

// times asks for each experiment as often.
func times(n int) func(*solve.Solve) { return func(s *solve.Solve) { s.Request.Repeat = n } }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// end is checked after every test.
func (w *world) end() {
	w.Helper()
	live, err := w.store.LiveSolves(context.Background())
	w.must(err)
	if len(live) > 0 {
		w.Fatalf("solves are left:\n%s", w.dump())
	}
	w.clean()
	for _, p := range w.procs {
		if err := p.stop(); err != nil && !errors.Is(err, errDead) && !errors.Is(err, solve.ErrLeaseLost) {
			w.Errorf("engine %s: %v", p.node, err)
		}
	}
	if len(w.machine.alien) > 0 {
		w.Errorf("unknown commands, has package tree changed? %q", w.machine.alien)
	}
}
