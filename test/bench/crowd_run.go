package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// Shape of the crowd: solves of the largest matrix there is by default.
const (
	crowdMatrix   = 24
	crowdParallel = 4
	crowdRepos    = 40
	crowdSteps    = 3
	crowdDelay    = 300 * time.Millisecond // of a model's answer
	crowdBase     = "crowd-base"
)

// crowdRun is the world of one size.
type crowdRun struct {
	crowdSize
	store  *bolt.Store
	driver *fakesandbox.Driver
	git    *git.Cache
	base   string // commit of every repository

	mu    sync.Mutex
	ended map[string]bool // sandboxes of judges whose tests were run
	full  chan struct{}   // closed when the crowd is at work: as many have ended as run
	done  chan struct{}   // closed when the counted runs have ended
}

func newCrowd(size crowdSize) *crowdRun {
	return &crowdRun{crowdSize: size, ended: map[string]bool{}, full: make(chan struct{}), done: make(chan struct{})}
}

// play carries the crowd until the counted runs have ended.
func (c *crowdRun) play(ctx context.Context) (cost crowdCost, err error) {
	b := bolt.DefaultConfig()
	b.Path = filepath.Join(c.Dir, "store", "yudai.db")
	if c.store, err = bolt.Open(b); err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, c.store.Close()) }()
	if err := c.mirrors(ctx); err != nil {
		return cost, err
	}
	if err := c.people(ctx); err != nil {
		return cost, err
	}
	if err := forgetPeak(); err != nil {
		return cost, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- c.engine().Run(ctx) }()
	for _, mark := range []chan struct{}{c.full, c.done} {
		cpu, began := processorTime(), time.Now()
		select {
		case err := <-served:
			return cost, errors.Join(err, errors.New("the engine ended early"))
		case <-mark:
			cost.CPU, cost.Wall = processorTime()-cpu, time.Since(began).Seconds()
		}
	}
	cost.CPU, cost.Wall, cost.Running = cost.CPU/float64(c.Counted), cost.Wall/float64(c.Counted), c.driver.MostOpen()
	cost.Memory, err = status(os.Getpid(), "VmHWM")
	cancel()
	return cost, errors.Join(err, <-served)
}

// forgetPeak gives back what making the crowd took, as a server does after its
// start, and counts the largest size anew: no server makes its solves in one go.
func forgetPeak() error {
	server.Lean(os.Getenv)
	const peak = "5" // see proc(5), clear_refs
	return os.WriteFile("/proc/self/clear_refs", []byte(peak), 0o600)
}

// processorTime is what this process used so far, in seconds.
func processorTime() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// engine is the real one around the fake sandbox.
func (c *crowdRun) engine() *solver.Engine {
	cfg := solver.DefaultConfig()
	cfg.Caps = solve.Caps{Process: c.Running}
	return solver.New(cfg, solver.Parts{
		Store: c.store, Drivers: fakesandbox.Only{Driver: c.driver}, Git: c.git, Node: "crowd", Log: zerolog.Nop(),
		Agents: map[string]agent.Agent{"mini": agent.NewMini(agent.DefaultConfig())}, Models: crowdModels{},
	})
}

// mirrors makes the mirrors that the solves' bases were made from: what a patch makes is looked at there.
func (c *crowdRun) mirrors(ctx context.Context) error {
	source := filepath.Join(c.Dir, "source")
	if err := os.MkdirAll(source, 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(source, "a.txt"), []byte("base\n"), 0o600); err != nil {
		return err
	}
	if err := commitAll(ctx, source); err != nil {
		return err
	}
	c.git = git.New(filepath.Join(c.Dir, "git"))
	for i := range crowdRepos {
		m, err := c.git.Mirror(ctx, strconv.Itoa(i), source, git.Auth{})
		if err != nil {
			return err
		}
		if c.base, err = m.Resolve(ctx, "main"); err != nil {
			return err
		}
	}
	return nil
}

// people makes the solves, prepared, with all their runs queued. Their bases are
// the fake driver's, under the names the engine gives them.
func (c *crowdRun) people(ctx context.Context) error {
	c.driver = fakesandbox.New(c.answer)
	now := time.Now()
	solves := (c.Running + c.Queued + c.Counted + crowdMatrix - 1) / crowdMatrix
	return many(ctx, solves, func(ctx context.Context, i int) error {
		id := solve.ID(fmt.Sprintf("crowd%05d", i))
		s := solve.Solve{
			ID: id, Created: now.Add(time.Duration(i)), Repo: solve.Repo{Installation: int64(i % 10), ID: int64(i % crowdRepos), Owner: owner, Name: "project", DefaultBranch: "main"},
			Issue: solve.Issue{Number: i + 1, Title: "It does not work", Body: strings.Repeat("There is more to say. ", 40)},
		}
		s.Trigger.Key = string(id)
		if _, _, err := c.store.Create(ctx, s); err != nil {
			return err
		}
		return c.prepared(ctx, id, now)
	})
}

// prepared takes a solve to where its runs wait.
func (c *crowdRun) prepared(ctx context.Context, id solve.ID, now time.Time) error {
	base := "y-" + string(id) + "-base"
	sb, err := c.driver.Open(ctx, sandbox.Spec{Name: base})
	if err == nil {
		_, err = c.driver.Freeze(ctx, sb)
	}
	if err != nil {
		return err
	}
	if err := c.store.PutArtifact(ctx, id, "base-report.json", []byte(`{"v":1,"counts":{"exit":1}}`)); err != nil {
		return err
	}
	runs := make([]solve.Run, crowdMatrix)
	for i := range runs {
		runs[i] = solve.Run{N: i + 1, Experiment: solve.Experiment{Agent: "mini", Model: "crowd", Repeat: i + 1}}
	}
	plan := solve.Plan{Limits: solve.Limits{Parallel: crowdParallel, RunTime: time.Hour, SolveTime: time.Hour}}
	for _, r := range runs {
		plan.Experiments = append(plan.Experiments, r.Experiment)
	}
	_, _, err = c.store.Apply(ctx, solve.Change{Solve: id, Event: solve.Claimed{Plan: plan}})
	if err != nil {
		return err
	}
	ready := solve.Base{Branch: "main", SHA: c.base, Image: base, Test: solve.TestCommand{Command: "run-tests", Format: "exit", Source: "config"}}
	_, _, err = c.store.Apply(ctx, solve.Change{Solve: id, Event: solve.BaseReady{Base: ready, Runs: runs}})
	return err
}

// submit is what an agent's last command prints.
const submit = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// crowdPatch is what every harvest takes out.
const crowdPatch = "diff --git a/a.txt b/a.txt\nindex df967b96a579e45a18b8251732d16804b2e56a55..5ea2ed41692f22b6d3e9f67a1a3c0d4ed0ad0f4c 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-base\n+good\n"

// answer plays the machine: the tests fail on every candidate, so that no solve
// comes to a pull request.
func (c *crowdRun) answer(_ context.Context, call fakesandbox.Call) (sandbox.Result, error) {
	text := call.Command.Shell + strings.Join(call.Command.Argv, " ")
	switch {
	case text == "run-tests":
		c.count(call.Sandbox)
		return sandbox.Result{ExitCode: 1}, nil
	case strings.Contains(text, submit):
		_, err := io.WriteString(call.Stdout, submit+"\n")
		return sandbox.Result{}, err
	case strings.Contains(text, "git diff-index --cached -p"):
		_, err := io.WriteString(call.Stdout, crowdPatch)
		return sandbox.Result{}, err
	case strings.Contains(text, "cksum"):
		_, err := io.WriteString(call.Stdout, "1 1")
		return sandbox.Result{}, err
	}
	return sandbox.Result{}, nil
}

// count is called when a run is at its end: its tests are run, the first time.
func (c *crowdRun) count(judge string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended[judge] {
		return
	}
	c.ended[judge] = true
	switch len(c.ended) {
	case c.Running:
		close(c.full)
	case c.Running + c.Counted:
		close(c.done)
	}
}

// crowdModels is one scripted model that takes its time.
type crowdModels struct{}

func (crowdModels) Names() []string                          { return []string{"crowd"} }
func (crowdModels) Ready(string) error                       { return nil }
func (crowdModels) Temperature(string) solve.TemperatureRule { return solve.TemperatureAccepted }
func (crowdModels) Vendor(string) string                     { return "" }
func (crowdModels) Answers(context.Context, string) error    { return nil }
func (crowdModels) Metered(string) bool                      { return false }
func (crowdModels) UsualCost(string) solve.Money             { return 0 }
func (crowdModels) APIs(string) []string                     { return nil }
func (crowdModels) Open(name string, x solve.Experiment) (agent.Model, error) {
	command := "cat a.txt"
	var play scripted.Play
	for range crowdSteps {
		play.Steps = append(play.Steps, scripted.Step{Say: "I look at the file.", Run: &command, Delay: crowdDelay})
	}
	script := scripted.Script{Plays: []scripted.Play{play}}
	return script.Model(name, x, agent.Price{}), nil
}
