package solver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox/fake"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
)

// world is all that an engine needs, in one bubble of fake time: a real store,
// git and agent, and a fake GitHub, machine and model.
type world struct {
	*testing.T
	cfg     solver.Config
	store   *bolt.Store
	hub     *hub
	machine *machine
	driver  *boxes
	models  *models
	agents  map[string]agent.Agent
	git     *git.Cache
	procs   []*process
	made    int // solves
	said    int // asks
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
	w.machine = &machine{counts: map[string]int{}, hooks: map[string]fake.Func{}}
	w.driver = &boxes{Driver: fake.New(w.machine.answer), from: map[string]string{}}
	w.hub = &hub{role: "write", write: true, open: true, url: o.path, sha: o.sha, calls: map[string]int{}, faults: map[string][]error{}, always: map[string]error{}}
	w.models = &models{calls: map[string]int{}, unready: map[string]error{}, opens: map[string]error{}}
	w.agents = map[string]agent.Agent{"mini": agent.NewMini(agent.DefaultConfig())}
	for _, name := range []string{"good", "bad", "norun", "slow", "disk"} {
		w.play(name, run("write "+name))
	}
	w.play("idle")
	cfg := bolt.DefaultConfig()
	cfg.Path = filepath.Join(memory(t), "yudai.db")
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
	cancel context.CancelFunc
	done   chan struct{}
	err    error // after done
}

// process makes an engine that is not started yet.
func (w *world) process(node string) *process {
	p := &process{w: w, node: node, store: &ledger{Store: w.store}, driver: &tenant{boxes: w.driver}, done: make(chan struct{})}
	p.engine = solver.New(w.cfg, solver.Parts{
		Store: p.store, Hub: w.hub, Driver: p.driver, Git: w.git, Agents: w.agents, Models: w.models,
		Node: node, Log: zerolog.New(zerolog.NewTestWriter(w.T)).With().Str("node", node).Logger(),
	})
	return p
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

// await waits until ok, at most for the limit of fake time.
func (w *world) await(limit time.Duration, what string, ok func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	hints := w.store.Watch(ctx)
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		select {
		case <-hints:
		case <-ticker.C:
		}
		if ctx.Err() != nil && !ok() {
			w.Fatalf("waited %s in vain: %s\n%s", limit, what, w.dump())
		}
	}
}

// dump is where every living solve stands.
func (w *world) dump() string {
	var b strings.Builder
	live, err := w.store.LiveSolves(context.Background())
	fmt.Fprintln(&b, "sandboxes:", w.driver.leftovers(), err)
	for _, s := range live {
		fmt.Fprintf(&b, "%s %s of %q %s\n", s.ID, s.State, s.Lease.Node, s.Reason)
		for _, r := range w.runs(s.ID) {
			fmt.Fprintf(&b, "  %d %s of %q, attempt %d, %s %s\n", r.N, r.State, r.Lease.Node, r.Attempt, r.Exit, r.Reason)
		}
	}
	return b.String()
}

func (w *world) solve(id solve.ID) solve.Solve {
	w.Helper()
	s, err := w.store.Solve(context.Background(), id)
	w.must(err)
	return s
}

func (w *world) runs(id solve.ID) []solve.Run {
	w.Helper()
	list, err := w.store.Runs(context.Background(), id)
	w.must(err)
	return list
}

func (w *world) run1(id solve.ID) solve.Run {
	w.Helper()
	r, err := w.store.Run(context.Background(), id, 1)
	w.must(err)
	return r
}

// state waits until the solve is in the state.
func (w *world) state(id solve.ID, want solve.State) {
	w.Helper()
	w.await(time.Hour, string(want), func() bool { return w.solve(id).State == want })
}

// runState waits until the solve's first run is in the state.
func (w *world) runState(id solve.ID, want solve.RunState) {
	w.Helper()
	w.await(time.Hour, string(want), func() bool {
		r, err := w.store.Run(w.Context(), id, 1)
		return err == nil && r.State == want
	})
}

// final waits for the solve's end, which must be the wanted one.
func (w *world) final(id solve.ID, want solve.State) solve.Solve {
	w.Helper()
	w.await(24*time.Hour, "the end of "+string(id), func() bool { return w.solve(id).State.Final() })
	s := w.solve(id)
	if s.State != want {
		w.Fatalf("solve %s is %s (%s), want %s", id, s.State, s.Reason, want)
	}
	return s
}

// ends compares the states of a solve's runs.
func (w *world) ends(id solve.ID, want ...solve.RunState) []solve.Run {
	w.Helper()
	list := w.runs(id)
	var got []solve.RunState
	for _, r := range list {
		got = append(got, r.State)
	}
	if !slices.Equal(got, want) {
		w.Fatalf("the runs ended %v, want %v; reasons:\n%s", got, want, reasons(list))
	}
	return list
}

func reasons(list []solve.Run) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%d: %s: %s\n", r.N, r.Exit, r.Reason)
	}
	return b.String()
}

// clean waits, without any sweep, until no sandbox or base is left.
func (w *world) clean() {
	w.Helper()
	w.await(time.Minute, "all sandboxes closed", func() bool { return len(w.driver.leftovers()) == 0 })
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
