package solver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/solver/tree"
)

// worker carries one run from dispatched to its end.
type worker struct {
	*Engine
	run   solve.Run
	solve solve.Solve
	box   sandbox.Sandbox // of the agent, nil when closed
	usage *sandboxes.Recorder
	steps sync.Mutex // guards run.Progress while the agent works
	full  bool       // the agent's sandbox ended because its disk was full
	// since is when the agent would have begun without a break; nil while it does not work.
	since atomic.Pointer[time.Time]
}

// work does the run. orphan says that its earlier owner died: the state tells how far it came.
func (w *worker) work(ctx context.Context, orphan bool) {
	log := zerolog.Ctx(ctx)
	err := w.carry(ctx, orphan)
	if err != nil && !errors.Is(err, solve.ErrLeaseLost) && !fault.Stopping(ctx) {
		err = w.fail(ctx, err)
	}
	switch {
	case errors.Is(err, solve.ErrLeaseLost):
		log.Warn().Msg("run taken over or ended by somebody else")
		w.leave(ctx)
		return
	case err != nil && fault.Stopping(ctx): // the next process attaches to the sandbox and goes on
		return
	case err != nil:
		log.Error().Err(err).Msg("run not ended")
	}
	if w.box != nil {
		sandboxes.Close(ctx, w.box)
	}
	w.forget(ctx)
	log.Info().Str(logkey.State, string(w.run.State)).Msg("run ended")
	if w.solve.State.Final() {
		w.budgets.Drop(w.solve.ID)
		sandboxes.DeleteBases(ctx, w.Drivers, w.solve)
	}
}

// carry goes through the stages that are left.
func (w *worker) carry(ctx context.Context, orphan bool) error {
	last, done := lasting(ctx) // one that was cancelled at once keeps what it has changed, too
	defer done()
	var err error
	if w.solve, err = w.Store.Solve(last, w.run.Solve); err != nil {
		return err
	}
	w.usage = sandboxes.NewRecorder(w.run.Stays)
	if orphan {
		if ok, err := w.adopt(ctx); err != nil || !ok {
			return err
		}
	}
	if w.run.State == solve.RunDispatched {
		orphan = false // there is no transcript to go on with
		if err := w.open(ctx); err != nil {
			return w.again(ctx, err, solve.Aborted{})
		}
	}
	if w.run.State == solve.RunWorking {
		err := w.agent(ctx, orphan)
		if errors.Is(err, agent.ErrProgramLost) {
			return w.again(ctx, err, solve.Lost{})
		}
		if err != nil {
			return err
		}
	}
	if w.run.State == solve.RunHarvesting {
		if err := w.harvest(ctx); err != nil {
			return w.died(ctx, err)
		}
	}
	if w.run.State == solve.RunJudging {
		return w.judge(ctx)
	}
	return nil
}

// apply writes one change of the run and keeps the records as stored.
func (w *worker) apply(ctx context.Context, ev solve.Event, reason string) error {
	switch ev.(type) {
	case solve.Started, solve.AgentEnded, solve.Adopted:
	default: // the sandbox is closed now, or nobody's
		w.usage.Closed()
	}
	s, r, err := w.Engine.apply(ctx, solve.Change{
		Solve: w.run.Solve, Run: w.run.N, Token: w.run.Lease.Token, Event: ev, Reason: reason, Stays: w.usage.Used(),
	})
	if err != nil {
		return err
	}
	w.solve, w.run = s, r
	return nil
}

// adopt takes over from a dead owner. false: the run went back to the queue or is lost.
func (w *worker) adopt(ctx context.Context) (bool, error) {
	if w.run.State == solve.RunJudging { // the patch is stored, nothing of the old sandbox is needed
		w.discard(ctx, sandboxes.RunName(w.run))
		return true, w.apply(ctx, solve.Adopted{}, "")
	}
	if w.run.State == solve.RunDispatched { // nothing was begun, so that no attempt was used up
		return true, w.apply(ctx, solve.Adopted{}, "")
	}
	last, done := lasting(ctx)
	defer done()
	sb, err := w.attach(last, w.run.Sandbox)
	if err == nil {
		w.box = sb
		return true, w.apply(ctx, solve.Adopted{}, "")
	}
	if !errors.Is(err, sandbox.ErrGone) {
		return false, w.again(ctx, err, solve.Lost{})
	}
	return false, w.again(ctx, errors.New("its owner died and the sandbox is gone"), solve.Lost{})
}

// again puts the run back into the queue for another attempt, or ends it with the event last.
func (w *worker) again(ctx context.Context, cause error, last solve.Event) error {
	if ctx.Err() != nil || errors.Is(cause, solve.ErrLeaseLost) {
		return cause
	}
	w.discard(ctx, sandboxes.RunName(w.run))
	switch {
	case fault.Hopeless(cause):
		return w.apply(ctx, last, fault.Public(cause))
	case w.run.Attempt < w.cfg.MaxAttempts:
		w.budgets.Requeue(w.run)
		return w.apply(ctx, solve.Requeued{}, fault.Public(cause))
	}
	return w.apply(ctx, last, fmt.Sprintf("given up after %d attempts: %s", w.run.Attempt, fault.Public(cause)))
}

// died begins the run anew whose sandbox is not there any more, although a worker had
// it: a provider lost it, or cannot be reached. What the agent changed is lost with it.
func (w *worker) died(ctx context.Context, err error) error {
	if w.full || !errors.Is(err, sandbox.ErrGone) && !errors.Is(err, sandbox.ErrUnavailable) {
		return err
	}
	w.box = nil
	return w.again(ctx, err, solve.Aborted{})
}

// attach finds a sandbox of the run.
func (w *worker) attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	d, err := sandboxes.DriverOf(w.Drivers, w.solve)
	if err != nil {
		return nil, err
	}
	return d.Attach(ctx, name)
}

// discard removes a sandbox that may be there under that name.
func (w *worker) discard(ctx context.Context, name string) {
	if sb, err := w.attach(ctx, name); err == nil {
		sandboxes.Close(ctx, sb)
	}
}

// fail ends the run for a reason that is not the candidate's: cancelled, out of time, or an error of ours.
func (w *worker) fail(ctx context.Context, err error) error {
	cancelled := errors.Is(context.Cause(ctx), agent.ErrCancelled)
	if !cancelled {
		zerolog.Ctx(ctx).Error().Err(err).Msg("run failed")
	}
	switch {
	case w.run.State.Final():
		return nil
	case cancelled:
		return w.stopped(ctx, "", nil)
	}
	return w.apply(ctx, solve.Aborted{}, fault.Public(err))
}

// leave cleans up after a run that somebody else ended: then its sandbox is
// nobody's, and the base may have waited for it. One that was taken over keeps both.
func (w *worker) leave(ctx context.Context) {
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	r, err := w.Store.Run(read, w.run.Solve, w.run.N)
	if err != nil || !r.State.Final() {
		return
	}
	if w.box != nil {
		sandboxes.Close(ctx, w.box)
	}
	if s, err := w.Store.Solve(read, w.run.Solve); err == nil && s.State.Final() {
		w.budgets.Drop(s.ID)
		sandboxes.DeleteBases(ctx, w.Drivers, s)
	}
}

// open stores the intent, then forks the base.
func (w *worker) open(ctx context.Context) error {
	w.discard(ctx, sandboxes.RunName(w.run))
	spec := w.spec(sandboxes.RunName(w.run), sandboxes.PhaseWork)
	if err := w.reach(&spec); err != nil {
		return err
	}
	sb, err := w.fork(ctx, w.solve, spec, w.usage)
	if err != nil {
		return err
	}
	w.box = sb
	return w.apply(ctx, solve.Started{Sandbox: sb.Name()}, "")
}

func (w *worker) spec(name, phase string) sandbox.Spec {
	l, t := w.solve.Plan.Limits, w.settings(w.solve).TestTime
	return sandbox.Spec{
		Name: name, From: w.solve.Base.Image, TTL: sandboxes.Lifetime(l.RunTime, t, t),
		Labels: map[string]string{"solve": string(w.run.Solve), "run": fmt.Sprint(w.run.N), "phase": phase},
	}
}

// agent lets the agent work until it ends, however. The transcript is stored after every step.
func (w *worker) agent(ctx context.Context, resumed bool) error {
	coder, ok := w.Agents[w.run.Experiment.Agent]
	if !ok { // planned by a process with another configuration
		return fmt.Errorf("agent %q is not configured any more", w.run.Experiment.Agent)
	}
	last, done := lasting(ctx)
	defer done()
	budget, err := w.budgets.Of(last, w.solve)
	if err != nil {
		return err
	}
	allowance := budget.Allowance(w.run, w.solve.Plan.Limits)
	job, err := w.job(last, resumed, allowance)
	shut := func() {}
	if err == nil {
		shut, err = w.enter(&job, allowance)
	}
	if err != nil {
		allowance.Close()
		return err
	}
	began := time.Now()
	since := began.Add(-job.Elapsed)
	w.since.Store(&since)
	inner := ctx
	if limit := w.solve.Plan.Limits.RunTime; limit > 0 {
		var stop context.CancelFunc
		inner, stop = context.WithDeadlineCause(inner, began.Add(limit-job.Elapsed), agent.ErrRunTime)
		defer stop()
	}
	if !w.solve.Deadline.IsZero() {
		var stop context.CancelFunc
		inner, stop = context.WithDeadlineCause(inner, w.solve.Deadline, agent.ErrSolveTime)
		defer stop()
	}
	res := coder.Run(inner, job)
	w.full = errors.Is(res.Err, sandbox.ErrDisk)
	// A program in the sandbox goes on without us: its door is not shut, nor its account,
	// so that it is never told that its run is over.
	if fault.Stopping(ctx) {
		return context.Cause(ctx)
	}
	if errors.Is(res.Err, solve.ErrLeaseLost) {
		return res.Err
	}
	shut()
	allowance.Close()
	if errors.Is(res.Err, agent.ErrProgramLost) {
		return res.Err
	}
	if res.Err != nil {
		zerolog.Ctx(ctx).Warn().Err(res.Err).Msg("agent ended with an error")
	}
	w.trajectory(ctx, res.Trajectory)
	w.since.Store(nil)
	return w.apply(ctx, solve.AgentEnded{Exit: res.Exit, Reason: res.Reason, AgentTime: job.Elapsed + time.Since(began)}, res.Exit)
}

// job is what the agent gets.
func (w *worker) job(ctx context.Context, resumed bool, allowance *budget.Allowance) (agent.Job, error) {
	x := w.run.Experiment
	job := agent.Job{
		Task: w.solve.Task(), Strategy: w.settings(w.solve).Advise(w.solve.Plan.StrategyText[x.Strategy]),
		TestCommand: w.solve.Base.Test.Command, MaxEdits: x.MaxEdits, Limits: w.solve.Plan.Limits,
		Sandbox: w.box, Tree: tree.NewWatcher(w.box).Fingerprint, Name: sandboxes.RunName(w.run),
		CheckBudget: allowance.Check, AddCost: allowance.Pay,
	}
	var err error
	if _, ok := w.resident(x.Agent); !ok { // its own model otherwise, through the gateway
		if job.Model, err = w.Models.Open(x.Model, x); err != nil {
			return job, err
		}
	}
	if resumed {
		job.Progress = w.run.Progress
		job.Elapsed = max(0, w.run.Progress.At.Sub(w.run.Started))
		if job.Resume, err = w.Store.Transcript(ctx, w.run.Solve, w.run.N); err != nil {
			return job, err
		}
	} else {
		w.run.Progress = solve.Progress{Usage: w.run.Progress.Usage} // what earlier attempts paid counts, and is limited, as the run's
		job.Progress = w.run.Progress
	}
	job.Save = func(ctx context.Context, lines []byte, p solve.Progress) error {
		return w.progress(ctx, lines, func(now *solve.Progress) { *now = p })
	}
	return job, nil
}
