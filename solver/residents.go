package solver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// agentLog is the artifact with the output of an agent's install.
func agentLog(name string) string { return "install-" + name + ".log" }

// installing are the agents of a plan that install something in the base, in the order
// of their names.
func (e *Engine) installing(plan solve.Plan) []string {
	var names []string
	for _, x := range plan.Experiments {
		if n, ok := e.resident(x.Agent); ok && n.Install.Command != "" {
			names = append(names, x.Agent)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// installStep is something that is installed with a network of its own, as a layer.
type installStep struct {
	layer string
	hosts []string
	do    func(ctx context.Context, sb sandbox.Sandbox) error
}

// installSteps are what is installed in the base: the agents' programs, then the
// repository's dependencies. One step does both, unless the repository itself says what
// its install may reach: then it gets no more than that.
func (p *preparation) installSteps() []installStep {
	var steps []installStep
	agents := p.installing(p.solve.Plan)
	if len(agents) > 0 {
		hosts := hostsIn(p.cfg.Tests.InstallEnv)
		for _, name := range agents {
			n, _ := p.resident(name)
			hosts = append(hosts, n.Install.Hosts...)
		}
		steps = append(steps, installStep{sandboxes.AgentsName(p.solve.ID), hosts, p.installAgents})
	}
	if p.setup.Install == "" {
		return steps
	}
	own := installStep{sandboxes.InstallName(p.solve.ID), p.setup.Hosts, p.install}
	if len(agents) == 0 || p.settings(p.solve).OnlyHosts {
		return append(steps, own)
	}
	both := installStep{layer: own.layer, hosts: slices.Concat(steps[0].hosts, own.hosts)}
	both.do = func(ctx context.Context, sb sandbox.Sandbox) error {
		if err := p.installAgents(ctx, sb); err != nil { // before any code of the repository runs
			return err
		}
		return p.install(ctx, sb)
	}
	return []installStep{both}
}

// installAgent is how an agent's command runs: with a home of its own, which does not
// stay, so that the repository's own install finds nothing of it.
const installAgent = `mkdir -p %[1]s && cd %[1]s && export HOME="$PWD/.home" && mkdir -p "$HOME" || exit
set -e
%[2]s
rm -rf "$HOME"`

// installAgents makes the programs that live in the sandbox. They are part of the base,
// so each of its copies has them.
func (p *preparation) installAgents(ctx context.Context, sb sandbox.Sandbox) error {
	for _, name := range p.installing(p.solve.Plan) {
		n, _ := p.resident(name)
		if err := p.installAgent(ctx, sb, name, n.Install); err != nil {
			return err
		}
	}
	return nil
}

func (p *preparation) installAgent(ctx context.Context, sb sandbox.Sandbox, name string, i agent.Installation) error {
	for _, f := range i.Files {
		if err := f.Put(ctx, sb); err != nil {
			return fmt.Errorf("install agent %s: %w", name, err)
		}
	}
	t := p.settings(p.solve)
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{
		Shell: fmt.Sprintf(installAgent, agent.InstallDir, i.Command), Dir: "/tmp",
		Env: p.cfg.Tests.InstallEnv, Timeout: t.InstallTime, MaxOutput: t.Output,
	})
	if err != nil {
		return fmt.Errorf("install agent %s: %w", name, err)
	}
	if err := p.Store.PutArtifact(ctx, p.solve.ID, agentLog(name), []byte(out)); err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fault.Refuse(fmt.Sprintf("The agent %s could not be installed in the sandbox (exit %d%s). Choose another agent (agents=), or give the sandbox what it lacks (docs/agents.md). Its last line: %s%s",
			name, res.ExitCode, timedOut(res), lastLine(out), closed(sb, p.installSteps()[0].hosts, false)))
	}
	return nil
}

// possibleAgents refuses experiments that cannot be: a program that cannot speak with its
// model, or a sandbox in which it cannot live.
func (e *Engine) possibleAgents(plan solve.Plan) error {
	for _, x := range plan.Experiments {
		if err := e.possibleAgent(x, plan.Sandbox); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) possibleAgent(x solve.Experiment, driver string) error {
	n, ok := e.resident(x.Agent)
	if !ok {
		return nil
	}
	if r, ok := e.Agents[x.Agent].(interface{ Ready() error }); ok {
		if err := r.Ready(); err != nil {
			return fault.Refuse(err.Error())
		}
	}
	if offered := e.Models.APIs(x.Model); !slices.ContainsFunc(n.APIs, func(a string) bool { return slices.Contains(offered, a) }) {
		return fault.Refusef("The agent %s speaks %s, and the model %s offers %s. Choose another model or agent; for a server that offers more, set apis of the model in models.models.",
			x.Agent, strings.Join(n.APIs, ", "), x.Model, none(offered))
	}
	d, known := e.Drivers.Of(driver)
	if !known {
		return nil
	}
	switch t := d.Traits(); {
	case !t.Launch:
		return fault.Refusef("The agent %s keeps a program running in the sandbox, and the driver %s cannot do that. Choose another driver (sandbox=) or the agent mini.", x.Agent, t.Name)
	case n.Inside && !t.Socket && e.Gateway.PublicHost() == "":
		return fault.Refusef("The agent %s calls its model from its sandbox, and one of the driver %s, or of its fallback, is elsewhere and reaches the gateway by a public address only: set server.public_url to an address of this server with a name and the usual port, like https://yudai.example.com, or choose the agent mini.", x.Agent, t.Name)
	}
	return nil
}

func none(names []string) string {
	if len(names) == 0 {
		return "no API that agents can call"
	}
	return strings.Join(names, ", ")
}
