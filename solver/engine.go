// Package solver carries a solve from queued to its end: it claims it under a
// lease, plans, prepares the base once, fans the experiments out over forks of
// it, harvests and judges every candidate, has the champion chosen and
// published, and goes on where a dead process stopped.
//
// Nothing here is the truth: states live in the store, written under a fencing
// token, and what GitHub shows is derived from them. A worker that loses its
// lease stops; whoever takes over starts from the stored state.
package solver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/commands"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Store is what the engine needs of a store engine; the promises are in storetest.
type Store interface {
	records
	leases
	files
	asks
}

type records interface {
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	Run(ctx context.Context, id solve.ID, n int) (solve.Run, error)
	Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error)
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	LatestSolve(ctx context.Context, repoID int64, issue int) (solve.Solve, error)
	Create(ctx context.Context, s solve.Solve) (stored solve.Solve, created bool, err error)
	Spent(ctx context.Context, since time.Time) ([]solve.Spending, error)
	Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error)
	CommandCancel(ctx context.Context, id solve.ID, by, why string, at time.Time) (solve.Solve, error)
	Effect(ctx context.Context, key string) (solve.Effect, error)
	WithdrawEffect(ctx context.Context, key, reason string, at time.Time) (bool, error)
	RenewEffect(ctx context.Context, key string, at time.Time) error
	Watch(ctx context.Context) <-chan struct{}
}

type leases interface {
	Heartbeat(ctx context.Context, node string, now time.Time, ttl time.Duration) error
	Leave(ctx context.Context, node string) error
	ClaimSolve(ctx context.Context, node string, now time.Time) (solve.Solve, error)
	Admit(ctx context.Context, node string, now time.Time, caps solve.Caps) ([]solve.Run, error)
	Rescue(ctx context.Context, node string, now time.Time) ([]solve.Run, error)
}

type files interface {
	Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error
	Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error)
	PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
}

type asks interface {
	Commands(ctx context.Context) ([]solve.Command, error)
	Answer(ctx context.Context, askID string, effects []solve.Effect) error
}

// Hub is what the engine reads from GitHub.
type Hub interface {
	// Permission tells the login's role in the repository, and whether it may write.
	Permission(ctx context.Context, repo solve.Repo, login string) (role string, write bool, err error)
	// Issue is an issue as it is now; solve.ErrNotFound if it is gone, also to another repository.
	Issue(ctx context.Context, repo solve.Repo, number int) (solve.IssueNow, error)
	// Pull is a pull request as it is now; solve.ErrNotFound if there is none.
	Pull(ctx context.Context, repo solve.Repo, number int) (solve.PullNow, error)
	// Branch is the commit a branch points to; solve.ErrNotFound if there is none.
	Branch(ctx context.Context, repo solve.Repo, name string) (sha string, err error)
	// Config is the repository's own settings at a commit, else its owner's, with a name
	// for people; solve.ErrNotFound if there are none, solve.ErrTooLarge if they are not read.
	Config(ctx context.Context, repo solve.Repo, sha string) (name string, data []byte, err error)
	// Clone returns where and with which narrow credentials to clone. release ends them.
	Clone(ctx context.Context, repo solve.Repo) (url string, auth git.Auth, release func(context.Context) error, err error)
}

// Models opens a model for an experiment.
type Models interface {
	Names() []string
	Ready(name string) error
	Temperature(name string) solve.TemperatureRule
	// Metered says whether the model's price is known: money limits cannot stop one without.
	Metered(name string) bool
	Open(name string, x solve.Experiment) (agent.Model, error)
	// APIs are those by which the model can be called through the gateway.
	APIs(name string) []string
}

// Parts are what an engine is put together from.
type Parts struct {
	Store   Store
	Hub     Hub
	Drivers sandboxes.Drivers
	Git     *git.Cache
	Agents  map[string]agent.Agent // by the name used in agents=
	Models  Models
	// Gateway is for agents that are programs of their own; nil if there are none.
	Gateway Gateway
	Node    string // of this process's boot, unique
	// Label asks for a solve without a profile; repositories' own profiles have labels like it.
	Label string
	Log   zerolog.Logger
}

// Engine works on solves until its context ends.
type Engine struct {
	Parts
	cfg Config

	preparing chan struct{} // one token per base being prepared
	remaking  chan struct{} // one token: a lost base is being made again
	seats     chan struct{} // one token per solve being worked on
	leased    atomic.Int64  // until when the lease is confirmed, in nanoseconds; 0 if it is not
	group     *errgroup.Group
	halted    chan struct{} // closed when the workers must stop

	forkless sync.Map // names of drivers that turned out to hold no bases

	board board

	commands *commands.Commands
	budgets  *budget.Budgets
	daily    *budget.DailyLimit

	looked map[solve.ID]look // at the runs of solves that may have enough; dispatch's alone

	mu     sync.Mutex
	solves map[solve.ID]*task // being worked on here
	greets map[solve.ID]*task // being greeted
	runs   map[runKey]*task
}

// task is one goroutine's work on a solve or run. A new one can begin under the
// same name before the old one has put itself away, so each removes only itself.
type task struct {
	cancel context.CancelCauseFunc
	worked func() time.Duration // of a run: how long its agent has worked; else nil
}

type runKey struct {
	solve solve.ID
	n     int
}

// New returns an engine; Run starts it.
func New(cfg Config, parts Parts) *Engine {
	parts.Store = patient{parts.Store, cfg.LeaseTime}
	return &Engine{
		Parts: parts, cfg: cfg, preparing: make(chan struct{}, cfg.Preparing), remaking: make(chan struct{}, 1), halted: make(chan struct{}), seats: make(chan struct{}, cfg.MaxSolves),
		commands: commands.New(parts.Store, parts.Hub), budgets: budget.New(parts.Store), daily: budget.NewDailyLimit(parts.Store, cfg.Daily),
		solves: map[solve.ID]*task{}, greets: map[solve.ID]*task{}, runs: map[runKey]*task{},
	}
}

// tick is how often the engine looks at the store without a hint: cancels and
// deadlines are noticed at the latest then.
const tick = time.Second

// Run works until ctx ends, then stops its workers, gives the leases back and
// returns nil. It returns [solve.ErrLeaseLost] when the lease is lost: the process must end.
func (e *Engine) Run(ctx context.Context) error {
	ctx = e.Log.WithContext(ctx)
	began := time.Now()
	if err := e.Store.Heartbeat(ctx, e.Node, began, e.cfg.LeaseTime); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("start lease of node %s: %w", e.Node, err)
	}
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(fault.ErrStopping)
	e.leased.Store(began.Add(e.cfg.LeaseTime).UnixNano())
	defer context.AfterFunc(work, func() { e.leased.Store(0) })()
	defer context.AfterFunc(work, func() { close(e.halted) })()
	services, ctx := errgroup.WithContext(ctx)
	e.group = &errgroup.Group{}
	services.Go(func() error { return e.renew(ctx, work, stop, began) })
	services.Go(func() error { return e.every(ctx, tick, true, func(ctx context.Context) { e.dispatch(ctx, work) }) })
	services.Go(func() error { return e.every(ctx, tick, true, e.commands.Answer) })
	services.Go(func() error { return e.every(ctx, e.cfg.SweepEvery, false, e.sweep) })
	err := services.Wait()
	stop(fault.ErrStopping)
	e.group.Wait()        //nolint:errcheck // workers report into the store
	if e.Gateway != nil { // while the lease still holds, so that calls under way are booked
		err = errors.Join(err, e.Gateway.Close())
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, e.Store.Leave(last, e.Node))
}

// every calls do at once, then at each tick, and on store hints if hinted.
func (e *Engine) every(ctx context.Context, d time.Duration, hinted bool, do func(context.Context)) error {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	var hints <-chan struct{}
	if hinted {
		hints = e.Store.Watch(ctx)
	}
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-hints:
		}
	}
}

// dispatch is one look at the store: stop what must stop, take over what is
// orphaned, claim solves, admit runs.
func (e *Engine) dispatch(ctx, work context.Context) {
	now := time.Now()
	live, err := e.Store.LiveSolves(ctx)
	if err != nil {
		fault.Log(ctx, err, "live solves not read")
		return
	}
	e.enforce(live)
	e.spare(ctx, live)
	if slices.ContainsFunc(live, func(s solve.Solve) bool { return s.State == solve.StateQueued }) {
		defer e.greetWaiting(ctx, work) // those that are still there when all seats are taken
	}
	for place, ok := e.sit(); ok; place, ok = e.sit() {
		s, err := e.Store.ClaimSolve(ctx, e.Node, now)
		if err != nil {
			place.leave()
			fault.Log(ctx, err, "solve not claimed")
			break
		}
		e.startSolve(work, s, place)
	}
	orphans, err := e.Store.Rescue(ctx, e.Node, now)
	fault.Log(ctx, err, "runs not rescued")
	for _, r := range orphans {
		e.startRun(work, r, true)
	}
	admitted, err := e.Store.Admit(ctx, e.Node, now, e.cfg.Caps)
	fault.Log(ctx, err, "runs not admitted")
	for _, r := range admitted {
		e.startRun(work, r, false)
	}
}

// enforce stops the workers of solves that were cancelled. Deadlines are set
// where the work is: a run's agent ends at the solve's deadline, its judge does not.
func (e *Engine) enforce(live []solve.Solve) {
	for _, s := range live {
		if s.CancelAt.IsZero() {
			continue
		}
		e.mu.Lock()
		if t, ok := e.solves[s.ID]; ok {
			t.cancel(agent.ErrCancelled)
		}
		for key, t := range e.runs {
			if key.solve == s.ID {
				t.cancel(agent.ErrCancelled)
			}
		}
		e.mu.Unlock()
	}
}

// startSolve works on a claimed solve in a goroutine of the group.
func (e *Engine) startSolve(work context.Context, s solve.Solve, place *seat) {
	log := e.Log.With().Str(logkey.SolveID, string(s.ID)).Str(logkey.Repo, s.Repo.String()).Logger()
	start(e, log.WithContext(work), e.solves, s.ID, nil, func(ctx context.Context) {
		defer place.leave()
		e.work(ctx, s, place)
	})
}

// startRun works on an admitted or rescued run in a goroutine of the group.
func (e *Engine) startRun(work context.Context, r solve.Run, orphan bool) {
	log := e.Log.With().Str(logkey.SolveID, string(r.Solve)).Str(logkey.Repo, r.Repo.String()).Int(logkey.Run, r.N).Int(logkey.Attempt, r.Attempt).Logger()
	w := &worker{Engine: e, run: r}
	start(e, log.WithContext(work), e.runs, runKey{r.Solve, r.N}, w.worked, func(ctx context.Context) { w.work(ctx, orphan) })
}

// start does work under a name by which it can be cancelled while it lasts.
func start[K comparable](e *Engine, ctx context.Context, tasks map[K]*task, key K, worked func() time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &task{cancel, worked}
	e.mu.Lock()
	tasks[key] = t
	e.mu.Unlock()
	e.group.Go(func() error {
		defer func() {
			e.mu.Lock()
			if tasks[key] == t {
				delete(tasks, key)
			}
			e.mu.Unlock()
			cancel(nil)
		}()
		do(ctx)
		return nil
	})
}
