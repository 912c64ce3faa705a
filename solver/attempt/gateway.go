package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Gateway lets agents that are programs of their own call their models.
type Gateway interface {
	// Socket is the directory of a run's socket, absolute; it is there when Socket returns.
	Socket(run string) (dir string, err error)
	// PublicHost is the name under which sandboxes elsewhere reach the gateway, "" if
	// they cannot.
	PublicHost() string
	// Open opens the run's session, until the func is called: then its calls are ended and
	// booked before it returns. A run of the same name gets the same session again.
	Open(run string, where agent.GatewayAccess, x solve.Experiment, a agent.Allowance) (agent.GatewaySession, func(), error)
	// Forget removes what is kept for a run that is over.
	Forget(run string) error
}

// where is how a run's agent gets to the gateway from its sandbox.
func where(n agent.Needs, d sandbox.Driver) agent.GatewayAccess {
	switch {
	case !n.Inside:
		return agent.AccessLoopback
	case d.Traits().Socket:
		return agent.AccessSocket
	}
	return agent.AccessPublic
}

// reachGateway adds to a spec what the run's agent needs of its sandbox.
func (a *Attempt) reachGateway(spec *sandbox.Spec) error {
	needs, ok := agent.NeedsOf(a.with.Agents[a.run.Experiment.Agent])
	if !ok {
		return nil
	}
	spec.Launch = true // the agent itself, or what one beside us needs in there
	if !needs.Inside {
		return nil
	}
	d, err := sandboxes.DriverOf(a.with.Drivers, a.solve)
	if err != nil {
		return err
	}
	if where(needs, d) == agent.AccessSocket {
		spec.Network.Socket, err = a.with.Gateway.Socket(sandboxes.RunName(a.run))
		return err
	}
	spec.Network.Allow = []string{a.with.Gateway.PublicHost()}
	return nil
}

// forget removes what the gateway keeps for a run that is over.
func (a *Attempt) forget(ctx context.Context) {
	if _, ok := agent.NeedsOf(a.with.Agents[a.run.Experiment.Agent]); !ok || a.run.Sandbox == "" {
		return
	}
	if err := a.with.Gateway.Forget(sandboxes.RunName(a.run)); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("gateway directory not removed")
	}
}

// booking is the account of one run at the gateway: every call that it lets through is
// booked in one transaction with the run's progress.
type booking struct {
	money   *budget.Allowance
	attempt *Attempt
}

var _ agent.Allowance = booking{}

// Begin is agent.Allowance.
func (b booking) Begin(ctx context.Context, worst solve.Money) error {
	return b.money.Begin(ctx, worst)
}

// bookTime bounds the storing of a call whose run is being stopped.
const bookTime = 30 * time.Second

// End is agent.Allowance.
func (b booking) End(ctx context.Context, c agent.Call) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTime)
	defer cancel()
	used := c.Usage
	if c.Estimated {
		used.Estimated = max(used.Calls, 1)
	}
	b.money.End(c.Worst, used)
	a := b.attempt
	err := a.progress(ctx, nil, func(p *solve.Progress) {
		p.Steps += used.Calls
		p.Usage.Add(used)
		p.Waiting = ""
		if failed := agent.ModelError(nil); errors.As(c.Err, &failed) {
			p.Waiting = failed.Public()
		}
	})
	if err == nil && len(c.Request) > 0 {
		err = a.keepCall(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("book a call: %w", err)
	}
	return nil
}

// progress stores lines of the transcript and what changed of the progress, in one transaction.
func (a *Attempt) progress(ctx context.Context, lines []byte, change func(p *solve.Progress)) error {
	a.steps.Lock()
	defer a.steps.Unlock()
	p := a.run.Progress
	last := p.Last
	change(&p)
	p.At, p.Last = time.Now(), cmp.Or(LastAction(lines), last)
	if err := a.with.Store.Step(ctx, a.run.Solve, a.run.N, a.run.Lease.Token, lines, p); err != nil {
		return err
	}
	a.run.Progress = p
	return nil
}

// keepCall keeps the bodies of a call that the gateway recorded.
func (a *Attempt) keepCall(ctx context.Context, c agent.Call) error {
	name := fmt.Sprintf("run-%d-call-%s.json", a.run.N, c.At.UTC().Format("20060102-150405.000000000"))
	data, err := json.MarshalIndent(map[string]any{
		"at": c.At, "duration_ms": c.Duration.Milliseconds(), "api": c.API, "status": c.Status, "usage": c.Usage,
		"estimated": c.Estimated, "request": body(c.Request), "response": body(c.Response),
	}, "", " ")
	if err != nil {
		return err
	}
	return a.with.Store.PutArtifact(ctx, a.run.Solve, name, data)
}

// body is a recorded body as JSON where it is some, else as text.
func body(data []byte) any {
	if json.Valid(data) {
		return json.RawMessage(data)
	}
	return string(data)
}

// openSession opens the run's gateway session and gives the job what a program of its own
// needs. The func ends it.
func (a *Attempt) openSession(job *agent.Job, money *budget.Allowance) (func(), error) {
	needs, ok := agent.NeedsOf(a.with.Agents[a.run.Experiment.Agent])
	if !ok {
		return func() {}, nil
	}
	d, err := sandboxes.DriverOf(a.with.Drivers, a.solve)
	if err != nil {
		return nil, err
	}
	b := booking{money, a}
	session, end, err := a.with.Gateway.Open(sandboxes.RunName(a.run), where(needs, d), a.run.Experiment, b)
	if err != nil {
		return nil, err
	}
	session.Usage = func() solve.Usage {
		a.steps.Lock()
		defer a.steps.Unlock()
		return a.run.Progress.Usage
	}
	job.Gateway = &session
	job.Save = func(ctx context.Context, lines []byte, p solve.Progress) error {
		return a.progress(ctx, lines, func(now *solve.Progress) { now.Edits, now.Output = p.Edits, p.Output })
	}
	return end, nil
}
