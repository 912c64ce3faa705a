package simulation_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
)

const (
	person = "ada"
	bot    = "yudai[bot]"
)

// sharedKey is every emulator's app key: short, because each process signs in with it.
var sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 1024) })

// world is everything that outlives a process, and the process of the moment.
type world struct {
	t        *testing.T
	scenario scenario
	mut      mutation
	plan     []point
	dir      string
	hub      *githubsim.Hub
	app      githubsim.App
	repo     githubsim.Repo
	issue    int
	github   ghapp.Config
	secrets  ghapp.Secrets
	solver   solver.Config
	host     *host
	provider *provider
	log      zerolog.Logger
	trace    *trace
	gates    []*gate // of all processes so far
	process  *process
	ids      int
	said     int // of the scenario's comments that come later
	problems []string
	asked    func(*http.Request) // told of every request to GitHub; nil is nobody
}

// outcome is what a scenario under a plan came to.
type outcome struct {
	boundaries []int // of each process
	crashes    int
	problems   []string
	trace      []string
}

// simulate plays a scenario whose processes end as planned, in fake time.
func simulate(t *testing.T, s scenario, m mutation, plan ...point) (out outcome) {
	t.Helper()
	dir := memory(t)
	key, err := sharedKey()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, scenario: s, mut: m, plan: plan, dir: dir, host: newHost(), log: zerolog.Nop(), trace: &trace{began: time.Now()}}
		if *verbose {
			w.log = zerolog.New(zerolog.NewTestWriter(t))
		}
		w.build(key)
		w.start()
		w.act()
		w.live()
		w.process.bury()
		w.check()
		w.must(w.hub.Close())
		w.judge()
		out = outcome{problems: w.problems, trace: w.trace.lines, crashes: len(w.gates) - 1}
		for _, g := range w.gates {
			out.boundaries = append(out.boundaries, g.n)
		}
	})
	return out
}

// memory is a directory that takes no time to sync, where there is one.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "yudai-simulation-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// build makes GitHub with an issue, and the configuration.
func (w *world) build(key *rsa.PrivateKey) {
	w.t.Helper()
	w.hub = githubsim.New(githubsim.Options{Dir: filepath.Join(w.dir, "github"), WebhookTransport: post{w}, HistoryFile: w.history()})
	var err error
	w.app, err = w.hub.RegisterApp(githubsim.AppSpec{Name: "yudai", Key: key, WebhookURL: "http://yudai.test/hook"})
	w.must(err)
	w.repo, err = w.hub.CreateRepo("octo", "project", map[string]string{answerFile: "base\n"})
	w.must(err)
	_, err = w.hub.Install(w.app, "octo")
	w.must(err)
	w.hub.CreateUser(person)
	w.must(w.hub.SetPermission(w.repo.FullName(), person, "write"))
	w.issue, err = w.hub.OpenIssue(w.repo.FullName(), person, "It is wrong", "Make it right.")
	w.must(err)
	w.hub.SetLag(w.scenario.lag)
	for _, f := range w.scenario.faults {
		w.hub.Inject(f)
	}
	w.provider, err = newProvider(w.scenario.script)
	w.must(err)

	w.github = ghapp.DefaultConfig()
	w.github.WebURL, w.github.V3APIURL, w.github.V4APIURL = w.hub.URL(), w.hub.APIURL(), w.hub.APIURL()+"graphql"
	write := &w.github.Write
	if w.scenario.lag > 0 {
		write.Lease = 2 * write.Timeout // the least allowed, so that only the time to settle covers the lag
	}
	if w.mut == mutSettle {
		write.ListLag = 2*write.Timeout + time.Second
	}
	w.secrets = ghapp.Secrets{
		AppID: w.app.ID, WebhookSecret: ghapp.NewSecret(w.app.WebhookSecret), PrivateKey: ghapp.NewSecret(string(w.app.PrivateKeyPEM)),
	}
	w.solver = solver.DefaultConfig()
	w.solver.Defaults = solver.Matrix{Models: w.provider.names, Strategies: []string{"plain"}, Agents: []string{"mini"}, Repeat: 1}
	w.solver.Tests.Command, w.solver.Tests.Format, w.solver.Tests.Install = testCommand, "exit", installCommand
	if w.scenario.configure != nil {
		w.scenario.configure(&w.solver)
	}
}

// history is where the emulator writes down what happened.
func (w *world) history() string { return filepath.Join(w.dir, "history.jsonl") }

func (w *world) storeConfig() bolt.Config {
	cfg := bolt.DefaultConfig()
	cfg.Path = filepath.Join(w.dir, "yudai.db")
	cfg.BatchDelay = 0 // the gate lets one write in at a time
	return cfg
}

// bundles is the directory of the signer.
func (w *world) bundles() string { return filepath.Join(w.dir, "bundles") }

// newID numbers the solves.
func (w *world) newID() solve.ID {
	w.ids++
	return solve.ID(fmt.Sprintf("solve%d", w.ids))
}

// patience is the longest fake time that a scenario may take.
const patience = 20 * time.Minute

// live runs one process after the other until the solve is settled.
func (w *world) live() {
	w.t.Helper()
	began := time.Now()
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for time.Since(began) < patience {
		select {
		case <-w.process.gate.ended:
			w.restart()
			continue
		case <-w.process.done: // by itself: it lost its lease
			w.restart()
			continue
		case <-ticker.C:
		}
		w.redeliver()
		if time.Since(began) > w.scenario.after && w.settled() && !w.goOn() {
			return
		}
	}
	w.problem("not settled after %s:\n%s", patience, w.dump())
}

// restart is what starts the program again, which takes a moment.
func (w *world) restart() {
	w.t.Helper()
	w.process.bury()
	w.process = nil
	<-time.After(time.Second)
	w.start()
}

// settled says whether nothing is left to be done by anybody.
func (w *world) settled() bool {
	w.t.Helper()
	if w.process.store == nil || w.process.gate.gone() || len(w.host.leftovers()) > 0 {
		return false
	}
	ctx, store := context.Background(), w.process.store
	live, err := store.LiveSolves(ctx)
	w.must(err)
	asks, err := store.Commands(ctx)
	w.must(err)
	if len(live)+len(asks) > 0 {
		return false
	}
	effects, err := store.Effects(ctx) // none: the label is not delivered yet
	w.must(err)
	for _, f := range effects {
		if f.State != solve.EffectApplied && f.State != solve.EffectDead {
			return false
		}
	}
	return len(effects) > 0
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// dump is where everything stands.
func (w *world) dump() string {
	var b strings.Builder
	fmt.Fprintln(&b, "sandboxes:", w.host.leftovers())
	if w.process == nil || w.process.store == nil {
		return b.String()
	}
	ctx := context.Background()
	s, err := w.process.store.LatestSolve(ctx, w.repo.ID, w.issue)
	fmt.Fprintf(&b, "%s %s of %q %s %v\n", s.ID, s.State, s.Lease.Node, s.Reason, err)
	runs, _ := w.process.store.Runs(ctx, s.ID)            // what there is
	effects, _ := w.process.store.SolveEffects(ctx, s.ID) // likewise
	for _, r := range runs {
		fmt.Fprintf(&b, "  run %d %s of %q, attempt %d, %s %s\n", r.N, r.State, r.Lease.Node, r.Attempt, r.Exit, r.Reason)
	}
	for _, f := range effects {
		fmt.Fprintf(&b, "  effect %s %s, version %d of %d, %s\n", f.Key, f.State, f.Applied, f.Wanted, f.Error)
	}
	return b.String()
}
