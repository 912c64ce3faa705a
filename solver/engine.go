// Package solver is the scheduler: it claims solves under a lease, admits their runs, and
// calls the stage that each state asks for. The stages are the packages below it.
//
// Nothing here is the truth: states live in the store, written under a fencing token, and
// what GitHub shows is derived from them. A worker that loses its lease stops; whoever
// takes over starts from the stored state.
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
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/attempt"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/commands"
	"github.com/yudai-dev/yudai/solver/crosscheck"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/plan"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/rights"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Engine is the scheduler: it hands the work on solves and runs to the stages until its
// context ends.
type Engine struct {
	cfg     Config
	node    string
	log     zerolog.Logger
	store   retryingStore
	hub     Hub
	drivers sandboxes.Drivers
	gateway Gateway
	signer  Signer

	planner  *plan.Planner
	preparer *prepare.Preparer
	attempts *attempt.Parts
	// crosscheck runs when all runs of a solve have ended.
	crosscheck *crosscheck.Checker
	commands   *commands.Commands
	budgets    *budget.Budgets
	daily      *budget.DailyLimit

	slots  chan struct{} // one token per solve being worked on
	leased atomic.Int64  // until when the lease is confirmed, in nanoseconds; 0 if it is not
	group  *errgroup.Group
	halted chan struct{} // closed when the workers must stop

	// These belong to dispatch alone.
	asked    map[solve.ID]time.Time // when the permission of each waiting solve was looked up
	reported map[solve.ID]time.Time // when each waiting solve was told its position
	looked   map[solve.ID]look      // at the runs of solves that may have enough
	// lookedBack is the hindsight command that had the last turn.
	lookedBack solve.Command

	mu          sync.Mutex
	solves      map[solve.ID]*task // being worked on here
	authorizing map[solve.ID]*task
	reopened    map[solve.ID]*task // ended ones whose candidates are judged in hindsight
	runs        map[runKey]*task
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
	halted := make(chan struct{})
	store := retryingStore{parts.Store, cfg.LeaseTime, halted}
	budgets, settings := budget.New(store), cfg.settings()
	people := rights.New(parts.Hub) // commands and plans share what is remembered
	e := &Engine{
		cfg: cfg, node: parts.Node, log: parts.Log, store: store, drivers: parts.Drivers, gateway: parts.Gateway,
		hub: parts.Hub, signer: parts.Signer,
		commands: commands.New(store, parts.Hub, people), budgets: budgets, daily: budget.NewDailyLimit(store, cfg.Daily),
		slots: make(chan struct{}, cfg.MaxSolves), halted: halted,
		solves: map[solve.ID]*task{}, authorizing: map[solve.ID]*task{}, reopened: map[solve.ID]*task{}, runs: map[runKey]*task{},
	}
	e.planner = &plan.Planner{
		Store: store, Hub: parts.Hub, Rights: people, Models: parts.Models, Gateway: parts.Gateway, Agents: parts.Agents, Drivers: parts.Drivers,
		Rules: cfg.planRules(parts),
	}
	e.preparer = prepare.New(store, parts.Hub, parts.Git, parts.Drivers, parts.Agents, prepare.Options{
		Settings: settings, Parallel: cfg.Preparing, CloneDepth: cfg.CloneDepth, InstallEnv: cfg.Tests.InstallEnv,
		RepositoryCommands: cfg.Repository.Read && cfg.Repository.Commands,
	})
	e.attempts = &attempt.Parts{
		Store: store, Bases: e.preparer, Drivers: parts.Drivers, Agents: parts.Agents, Models: parts.Models, Gateway: parts.Gateway,
		Budgets: budgets, Settings: settings, MaxAttempts: cfg.MaxAttempts,
	}
	e.crosscheck = &crosscheck.Checker{Store: store, Bases: e.preparer, Drivers: parts.Drivers, Settings: settings}
	return e
}

// tick is how often the engine looks at the store without a hint: cancels and
// deadlines are noticed at the latest then.
const tick = time.Second

// Run works until ctx ends, then stops its workers, gives the leases back and
// returns nil. It returns [solve.ErrLeaseLost] when the lease is lost: the process must end.
func (e *Engine) Run(ctx context.Context) error {
	ctx = e.log.WithContext(ctx)
	began := time.Now()
	if err := e.store.Heartbeat(ctx, e.node, e.cfg.LeaseTime); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("start lease of node %s: %w", e.node, err)
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
	if e.gateway != nil { // while the lease still holds, so that calls under way are booked
		err = errors.Join(err, e.gateway.Close())
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, e.store.Leave(last, e.node))
}

// every calls do at once, then at each tick, and on store hints if hinted.
func (e *Engine) every(ctx context.Context, d time.Duration, hinted bool, do func(context.Context)) error {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	var hints <-chan struct{}
	if hinted {
		hints = e.store.Watch(ctx)
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
	live, err := e.store.LiveSolves(ctx)
	if err != nil {
		fault.Log(ctx, err, "live solves not read")
		return
	}
	e.enforce(live)
	e.cancelRedundant(ctx, live)
	e.lookBack(ctx, work, live)
	if slices.ContainsFunc(live, func(s solve.Solve) bool { return s.State == solve.StateQueued }) {
		defer e.lookAtWaiting(ctx, work) // those that are still there when all slots are taken
	}
	for at, ok := e.takeSlot(); ok; at, ok = e.takeSlot() {
		s, err := e.store.ClaimSolve(ctx, e.node)
		if err != nil {
			at.release()
			fault.Log(ctx, err, "solve not claimed")
			break
		}
		e.startSolve(work, s, at)
	}
	orphans, err := e.store.Rescue(ctx, e.node)
	fault.Log(ctx, err, "runs not rescued")
	for _, r := range orphans {
		e.startRun(work, r, true)
	}
	admitted, err := e.store.Admit(ctx, e.node, e.cfg.Caps)
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

// logOf is the log of work on a solve.
func (e *Engine) logOf(id solve.ID, repo solve.Repo) *zerolog.Logger {
	log := e.log.With().Str(logkey.SolveID, string(id)).Str(logkey.Repo, repo.String()).Logger()
	return &log
}

// startSolve works on a claimed solve in a goroutine of the group.
func (e *Engine) startSolve(work context.Context, s solve.Solve, at *slot) {
	start(e, e.logOf(s.ID, s.Repo).WithContext(work), e.solves, s.ID, nil, func(ctx context.Context) {
		defer at.release()
		e.work(ctx, s, at)
	})
}

// startRun works on an admitted or rescued run in a goroutine of the group.
func (e *Engine) startRun(work context.Context, r solve.Run, orphan bool) {
	log := e.logOf(r.Solve, r.Repo).With().Int(logkey.Run, r.N).Int(logkey.Attempt, r.Attempt).Logger()
	a := attempt.New(e.attempts, r)
	start(e, log.WithContext(work), e.runs, runKey{r.Solve, r.N}, a.Worked, func(ctx context.Context) { a.Work(ctx, orphan) })
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
