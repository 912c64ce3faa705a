package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/solver/tree"
)

// open stores the intent, then forks the base.
func (a *Attempt) open(ctx context.Context) error {
	a.discard(ctx, sandboxes.RunName(a.run))
	spec := a.spec(sandboxes.RunName(a.run), sandboxes.PhaseWork)
	if err := a.reachGateway(&spec); err != nil {
		return err
	}
	sb, err := a.with.Bases.Open(ctx, a.solve, spec, a.usage)
	if err != nil {
		return err
	}
	a.box = sb
	return a.apply(ctx, solve.Started{Sandbox: sb.Name()}, "")
}

func (a *Attempt) spec(name, phase string) sandbox.Spec {
	l, t := a.solve.Plan.Limits, a.settings().TestTime
	return sandbox.Spec{
		Name: name, From: a.solve.Base.Image, TTL: sandboxes.Lifetime(l.RunTime, t, t),
		Labels: map[string]string{"solve": string(a.run.Solve), "run": fmt.Sprint(a.run.N), "phase": phase},
	}
}

// runAgent lets the agent work until it ends, however. The transcript is stored after every step.
func (a *Attempt) runAgent(ctx context.Context, resumed bool) error {
	coder, ok := a.with.Agents[a.run.Experiment.Agent]
	if !ok { // planned by a process with another configuration
		return fmt.Errorf("agent %q is not configured any more", a.run.Experiment.Agent)
	}
	last, done := lastDuties(ctx)
	defer done()
	shared, err := a.with.Budgets.Of(last, a.solve)
	if err != nil {
		return err
	}
	allowance := shared.Allowance(a.run, a.solve.Plan.Limits)
	job, err := a.job(last, resumed, allowance)
	end := func() {}
	if err == nil {
		end, err = a.openSession(&job, allowance)
	}
	if err != nil {
		allowance.Close()
		return err
	}
	began := time.Now()
	since := began.Add(-job.Elapsed)
	a.since.Store(&since)
	inner := ctx
	if limit := a.solve.Plan.Limits.RunTime; limit > 0 {
		var stop context.CancelFunc
		inner, stop = context.WithDeadlineCause(inner, began.Add(limit-job.Elapsed), agent.ErrRunTime)
		defer stop()
	}
	if !a.solve.Deadline.IsZero() {
		var stop context.CancelFunc
		inner, stop = context.WithDeadlineCause(inner, a.solve.Deadline, agent.ErrSolveTime)
		defer stop()
	}
	res := coder.Run(agent.WithRetries(inner, func(why string) { a.retrying(ctx, why) }), job)
	a.full = errors.Is(res.Err, sandbox.ErrDisk)
	// A program in the sandbox goes on without us: its door is not end, nor its account,
	// so that it is never told that its run is over.
	if fault.Stopping(ctx) {
		return context.Cause(ctx)
	}
	if errors.Is(res.Err, solve.ErrLeaseLost) {
		return res.Err
	}
	end()
	allowance.Close()
	if errors.Is(res.Err, agent.ErrProgramLost) {
		return res.Err
	}
	if res.Err != nil {
		zerolog.Ctx(ctx).Warn().Err(res.Err).Msg("agent ended with an error")
	}
	a.trajectory(ctx, res.Trajectory)
	a.since.Store(nil)
	return a.apply(ctx, solve.AgentEnded{
		Exit: res.Exit, Reason: res.Reason, Summary: Summary(res), AgentTime: job.Elapsed + time.Since(began),
	}, res.Exit)
}

// retrying stores that the agent waits for its model, which failed.
func (a *Attempt) retrying(ctx context.Context, why string) {
	err := a.progress(ctx, nil, func(p *solve.Progress) { p.Waiting = why })
	fault.Log(ctx, err, "retry of a model call not stored")
}

// job is what the agent gets.
func (a *Attempt) job(ctx context.Context, resumed bool, allowance *budget.Allowance) (agent.Job, error) {
	x := a.run.Experiment
	job := agent.Job{
		Task: a.solve.Task(), Strategy: a.settings().Advise(a.solve.Plan.StrategyText[x.Strategy]),
		TestCommand: a.solve.Base.Test.Command, MaxEdits: x.MaxEdits, Limits: a.solve.Plan.Limits,
		Reproduce: a.run.Reproduces(),
		Sandbox:   a.box, Tree: tree.NewWatcher(a.box).Fingerprint, Name: sandboxes.RunName(a.run),
		CheckBudget: allowance.Check, AddCost: allowance.Pay,
	}
	var err error
	if _, ok := agent.NeedsOf(a.with.Agents[x.Agent]); !ok { // its own model otherwise, through the gateway
		if job.Model, err = a.with.Models.Open(x.Model, x); err != nil {
			return job, err
		}
	}
	if resumed {
		job.Progress = a.run.Progress
		job.Elapsed = max(0, a.run.Progress.At.Sub(a.run.Started))
		if job.Resume, err = a.with.Store.Transcript(ctx, a.run.Solve, a.run.N); err != nil {
			return job, err
		}
	} else {
		a.run.Progress = solve.Progress{Usage: a.run.Progress.Usage} // what earlier attempts paid counts, and is limited, as the run's
		job.Progress = a.run.Progress
	}
	job.Save = func(ctx context.Context, lines []byte, p solve.Progress) error {
		return a.progress(ctx, lines, func(now *solve.Progress) { *now = p })
	}
	return job, nil
}
