// Package attempt carries one run from its sandbox to its verdict: it opens the sandbox,
// lets the agent work, collects the patch, and tests it in a clean copy of the base.
package attempt

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Store is what attempts need of the store.
type Store interface {
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	Run(ctx context.Context, id solve.ID, n int) (solve.Run, error)
	Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error)
	Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error
	Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error)
	PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
}

// Bases opens sandboxes on the base of a solve, and tells on this host what a patch makes of it.
type Bases interface {
	Open(ctx context.Context, s solve.Solve, spec sandbox.Spec, used *sandboxes.Recorder) (sandbox.Sandbox, error)
	Result(ctx context.Context, s solve.Solve, patch []byte) (git.Result, error)
}

// Models opens a model for an experiment.
type Models interface {
	Open(name string, x solve.Experiment) (agent.Model, error)
}

// Parts are what attempts work with.
type Parts struct {
	Store   Store
	Bases   Bases
	Drivers sandboxes.Drivers
	Agents  map[string]agent.Agent
	Models  Models
	Gateway Gateway
	Budgets *budget.Budgets
	// Settings are those of a plan that has none.
	Settings solve.Settings
	// MaxAttempts is how often a run is started whose sandbox is lost or cannot be opened.
	MaxAttempts int
}

// Attempt carries one run from dispatched to its end.
type Attempt struct {
	with  *Parts
	run   solve.Run
	solve solve.Solve
	box   sandbox.Sandbox // of the agent, nil when closed
	usage *sandboxes.Recorder
	steps sync.Mutex // guards run.Progress while the agent works
	full  bool       // the agent's sandbox ended because its disk was full
	// since is when the agent would have begun without a break; nil while it does not work.
	since atomic.Pointer[time.Time]
}

// New returns the attempt at a run that was admitted or rescued.
func New(with *Parts, r solve.Run) *Attempt { return &Attempt{with: with, run: r} }

func (a *Attempt) settings() solve.Settings { return a.solve.SettingsOr(a.with.Settings) }

// Work does the run. orphan says that its earlier owner died: the state tells how far it came.
func (a *Attempt) Work(ctx context.Context, orphan bool) {
	log := zerolog.Ctx(ctx)
	err := a.stages(ctx, orphan)
	if err != nil && !errors.Is(err, solve.ErrLeaseLost) && !fault.Stopping(ctx) {
		err = a.fail(ctx, err)
	}
	switch {
	case errors.Is(err, solve.ErrLeaseLost):
		log.Warn().Msg("run taken over or ended by somebody else")
		a.cleanUp(ctx)
		return
	case err != nil && fault.Stopping(ctx): // the next process attaches to the sandbox and goes on
		return
	case err != nil:
		log.Error().Err(err).Msg("run not ended")
	}
	if a.box != nil {
		sandboxes.Close(ctx, a.box)
	}
	a.forget(ctx)
	log.Info().Str(logkey.State, string(a.run.State)).Msg("run ended")
	if a.solve.State.Final() {
		a.with.Budgets.Drop(a.solve.ID)
		sandboxes.DeleteBases(ctx, a.with.Drivers, a.solve)
	}
}

// stages goes through the stages that are left.
func (a *Attempt) stages(ctx context.Context, orphan bool) error {
	last, done := lastDuties(ctx) // one that was cancelled at once keeps what it has changed, too
	defer done()
	var err error
	if a.solve, err = a.with.Store.Solve(last, a.run.Solve); err != nil {
		return err
	}
	a.usage = sandboxes.NewRecorder(a.run.SandboxUses)
	if orphan {
		if ok, err := a.takeOver(ctx); err != nil || !ok {
			return err
		}
	}
	if a.run.State == solve.RunDispatched {
		orphan = false // there is no transcript to go on with
		if err := a.open(ctx); err != nil {
			return a.requeue(ctx, err, solve.Aborted{})
		}
	}
	if a.run.State == solve.RunWorking {
		err := a.runAgent(ctx, orphan)
		if errors.Is(err, agent.ErrProgramLost) {
			return a.requeue(ctx, err, solve.Lost{})
		}
		if err != nil {
			return err
		}
	}
	if a.run.State == solve.RunHarvesting {
		if err := a.collectPatch(ctx); err != nil {
			return a.lostSandbox(ctx, err)
		}
	}
	if a.run.State == solve.RunJudging {
		return a.judge(ctx)
	}
	return nil
}

// apply writes one change of the run and keeps the records as stored.
func (a *Attempt) apply(ctx context.Context, ev solve.Event, reason string) error {
	switch ev.(type) {
	case solve.Started, solve.AgentEnded, solve.Adopted:
	default: // the sandbox is closed now, or nobody's
		a.usage.Closed()
	}
	s, r, err := a.with.Store.Apply(ctx, solve.Change{
		Solve: a.run.Solve, Run: a.run.N, Token: a.run.Lease.Token, Event: ev, Reason: reason, SandboxUses: a.usage.Used(),
	})
	if err != nil {
		return err
	}
	a.solve, a.run = s, r
	return nil
}

// fail ends the run for a reason that is not the candidate's: cancelled, out of time, or an error of ours.
func (a *Attempt) fail(ctx context.Context, err error) error {
	cancelled := errors.Is(context.Cause(ctx), agent.ErrCancelled)
	if !cancelled {
		zerolog.Ctx(ctx).Error().Err(err).Msg("run failed")
	}
	switch {
	case a.run.State.Final():
		return nil
	case cancelled:
		return a.stopped(ctx, "", nil)
	}
	return a.apply(ctx, solve.Aborted{}, fault.Public(err))
}
