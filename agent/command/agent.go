package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

// Agent runs a [Program] for one job after another. Safe for concurrent use.
type Agent struct {
	program  Program
	patience time.Duration
	alive    time.Duration // between two polls at whether anything runs at all
	quiet    time.Duration // without news: collect and store all the same
}

var _ agent.CLIAgent = (*Agent)(nil)

// New returns the agent. Program and config are taken as valid.
func New(p Program, c Config) *Agent {
	return &Agent{program: p, patience: c.Patience, alive: 10 * time.Second, quiet: quiet}
}

// Needs implements [agent.CLIAgent].
func (a *Agent) Needs() agent.Needs {
	return agent.Needs{APIs: a.program.APIs, Inside: true, Install: a.program.Install}
}

// A run is one job being worked on by this owner.
type run struct {
	agent    *Agent
	rec      *agent.Recorder
	launcher sandbox.Launcher
	position position // how far the transcript is
	unstored []byte
	calls    int  // at the last poll
	begun    bool // the transcript has its first line: an earlier owner was there
	timing   timing
}

// Run starts the program, or finds the one that an earlier owner of the run started,
// and follows it to its end. What it changed stays in the work tree, and when Run
// returns nothing of it runs any more, with one exception: if the context ends for a
// reason that is not the run's own, or the run is somebody else's now, the program goes on.
func (a *Agent) Run(ctx context.Context, j agent.Job) agent.Result {
	launcher, err := sandbox.Launching(j.Sandbox)
	if err != nil {
		return agent.FailureResult(ctx, err)
	}
	rec, messages := agent.NewRecorder(j)
	r := &run{agent: a, rec: rec, launcher: launcher, calls: j.Progress.Usage.Calls}
	r.restore(messages)
	if res, ok := agent.StoredExit(messages, r.rec.Progress); ok {
		return r.alreadyEnded(ctx, res)
	}
	if err := r.findOrLaunch(ctx); err != nil {
		return r.fail(ctx, err)
	}
	return r.pollLoop(ctx)
}

// findOrLaunch finds the program, or starts it.
func (r *run) findOrLaunch(ctx context.Context) error {
	s, err := r.poll(ctx, 0)
	if err != nil {
		return err
	}
	running, err := r.launcher.Launched(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look for the program: %w", err)
	case running || s.ended || s.started > 0:
		return r.recordTask(ctx) // how it is, the first poll says
	case r.rec.Progress.Steps > 0:
		return errLost
	}
	return r.launch(ctx)
}

// alreadyEnded is the result of a run whose end is stored: its owner died before it returned.
func (r *run) alreadyEnded(ctx context.Context, res agent.Result) agent.Result {
	if err := r.halt(ctx); err != nil {
		res.Err = errors.Join(res.Err, err)
	}
	if r.agent.program.Ended != nil {
		res.Trajectory = r.outcome(ctx, stopped).Trajectory
	}
	return r.rec.Result(res)
}
