// Package sweagent runs SWE-agent on this machine, beside yudai: the program is a client
// of SWE-ReX, and the endpoint of package swerex lets it work in the run's sandbox. Its
// model is behind the gateway, on loopback.
//
// The program has an environment of its own, a directory of its own that goes with the
// run, and neither a real key nor anything of yudai's environment. It ends with yudai: a
// run that yudai's death broke off begins anew.
package sweagent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// Agent is SWE-agent. Safe for concurrent use.
type Agent struct {
	cfg      Config
	patience time.Duration
	interval time.Duration // between two reads of the trajectory
}

var _ agent.CLIAgent = (*Agent)(nil)

// New returns the agent; patience is how long it may go on after the gateway refuses its calls. The
// config is taken as valid.
func New(cfg Config, patience time.Duration) *Agent {
	return &Agent{cfg: cfg, patience: patience, interval: time.Second}
}

// Needs implements [agent.CLIAgent].
func (a *Agent) Needs() agent.Needs { return agent.Needs{APIs: []string{agent.APIChat}} }

// Ready says why the agent cannot be chosen on this machine; nil if it can.
func (a *Agent) Ready() error {
	if len(a.cfg.Command) == 0 {
		return errors.New("The agent swe-agent is not set up on this server. " + //nolint:staticcheck // sentences for people
			"Install SWE-agent beside yudai and set swe_agent.command in config.yml to its program (docs/agents.md says how), " +
			"or choose another agent.")
	}
	if _, err := exec.LookPath(a.cfg.Command[0]); err != nil {
		return fmt.Errorf("The agent swe-agent cannot be started: swe_agent.command in config.yml names %s, "+ //nolint:staticcheck // as above
			"which is no program on this server. Correct it, or choose another agent.", a.cfg.Command[0])
	}
	return nil
}

// Run implements [agent.Agent].
func (a *Agent) Run(ctx context.Context, j agent.Job) agent.Result {
	secret := rand.Text()
	rec, messages := agent.NewRecorder(j, secret)
	if res, ok := agent.StoredExit(messages, j.Progress); ok {
		return res
	}
	r := &run{agent: a, rec: rec, secret: secret}
	if len(messages) > 0 {
		err := fmt.Errorf("%w when yudai stopped: SWE-agent runs beside it", agent.ErrProgramLost)
		return r.rec.Result(agent.Result{Exit: agent.ExitProgram, Reason: "the agent's program was lost", Err: err})
	}
	if err := a.Ready(); err != nil {
		return r.end(ctx, agent.Result{Exit: agent.ExitProgram, Reason: err.Error(), Err: err})
	}
	dir, drop, err := makeTempDir()
	if err != nil {
		return r.end(ctx, agent.Result{Exit: agent.ExitProgram, Reason: "there is no room for the agent's files", Err: err})
	}
	defer drop()
	r.dir = dir
	return r.run(ctx)
}
