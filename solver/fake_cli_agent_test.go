package solver_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// lodger is an agent that lives in the sandbox: it launches a program, and calls its model
// once a second while that runs.
type lodger struct {
	doors   *doors
	needs   agent.Needs
	calls   int         // that it makes
	cost    solve.Money // of each
	unready error
	mu      sync.Mutex
	launch  int // how often it launched its program
}

func (l *lodger) Needs() agent.Needs { return l.needs }
func (l *lodger) Ready() error       { return l.unready }

func (l *lodger) Run(ctx context.Context, j agent.Job) agent.Result {
	r := agent.Result{Exit: agent.ExitSubmitted, Reason: "the program ended", Trajectory: []byte(`{"trajectory_format":"its own"}`)}
	end := func(exit string, err error) agent.Result {
		r.Exit, r.Err = exit, err
		return r
	}
	box, err := sandbox.Launching(j.Sandbox)
	if err != nil {
		return end(agent.ExitSandbox, err)
	}
	if j.Resume == nil {
		line, _ := json.Marshal(agent.Message{Role: agent.RoleSystem, Content: "begun"})
		if err := errors.Join(box.Launch(ctx, sandbox.Command{Shell: "work"}), j.Save(ctx, append(line, '\n'), solve.Progress{Edits: 1})); err != nil {
			return end(agent.ExitSandbox, err)
		}
		l.mu.Lock()
		l.launch++
		l.mu.Unlock()
	}
	for {
		runs, err := box.Launched(ctx)
		switch {
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), agent.ErrCancelled):
			return end(agent.ExitCancelled, box.Halt(context.WithoutCancel(ctx)))
		case ctx.Err() != nil:
			return end(agent.ExitCancelled, context.Cause(ctx))
		case err != nil:
			return end(agent.ExitSandbox, err)
		case !runs && j.Gateway.Usage().Calls == 0:
			return end("", agent.ErrProgramLost)
		case !runs:
			return r
		}
		if j.Gateway.Usage().Calls < l.calls {
			err := l.doors.call(ctx, j.Gateway.Token, solve.Usage{Calls: 1, Input: 5, Cost: l.cost})
			switch {
			case errors.Is(err, agent.ErrBudget):
				return end(agent.ExitBudget, box.Halt(ctx))
			case errors.Is(err, agent.ErrLimit):
				return end(agent.ExitLimits, box.Halt(ctx))
			case err != nil && ctx.Err() == nil:
				return end(agent.ExitModel, err)
			}
		}
		_, _ = pause(ctx, time.Second)
	}
}

// doors is a gateway without a network. A door's token is its run's name.
type doors struct {
	mu     sync.Mutex
	open   map[string]agent.Allowance
	where  map[string]agent.GatewayAccess
	shut   []string
	forgot []string
	kept   []string  // as Runs tells
	last   time.Time // when the last call was made
	public string
}

func (d *doors) Socket(run string) (string, error) { return "/doors/" + run, nil }
func (d *doors) Runs() ([]string, error)           { return d.kept, nil }
func (d *doors) Close() error                      { return nil }
func (d *doors) PublicHost() string                { return d.public }

func (d *doors) Open(run string, where agent.GatewayAccess, _ solve.Experiment, a agent.Allowance) (agent.GatewaySession, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[run], d.where[run] = a, where
	return agent.GatewaySession{URL: "http://door", Token: run, LastError: func() error { return nil }}, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[run] == a {
			delete(d.open, run)
		}
		d.shut = append(d.shut, run)
	}, nil
}

func (d *doors) Forget(run string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgot = append(d.forgot, run)
	return nil
}

// call is a call of a run's agent.
func (d *doors) call(ctx context.Context, token string, u solve.Usage) error {
	d.mu.Lock()
	a := d.open[token]
	d.mu.Unlock()
	if a == nil {
		return agent.ErrRunOver
	}
	if err := a.Begin(ctx, u.Cost); err != nil {
		return err
	}
	d.mu.Lock()
	d.last = time.Now()
	d.mu.Unlock()
	return a.End(ctx, agent.Call{
		At: d.last, API: agent.APIChat, Worst: u.Cost, Usage: u, Status: 200, Request: []byte(`{"q":1}`), Response: []byte("no json"),
	})
}

// lodge gives the world an agent "lodger", whose program writes a good answer after a while.
func (w *world) lodge(d time.Duration) *lodger {
	w.doors = &doors{open: map[string]agent.Allowance{}, where: map[string]agent.GatewayAccess{}}
	l := &lodger{doors: w.doors, calls: 3, cost: call, needs: agent.Needs{APIs: []string{agent.APIChat}, Inside: true}}
	w.agents["lodger"] = l
	w.driver.SetProgram(func(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		res, err := pause(ctx, d)
		if err == nil {
			c.Edit(func(f fakesandbox.Files) { f[answerPath] = "good" })
		}
		return res, err
	})
	return l
}

// lodgers asks for the agent.
func lodgers(s *solve.Solve) { s.Request.Agents = []string{"lodger"} }
