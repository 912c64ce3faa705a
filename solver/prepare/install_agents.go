package prepare

import (
	"context"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// agentLog is the artifact with the output of an agent's install.
func agentLog(name string) string { return "install-" + name + ".log" }

// installing lists the agents of a plan that install something in the base, sorted.
func (p *Preparer) installing(plan solve.Plan) []string {
	var names []string
	for _, x := range plan.Experiments {
		if n, ok := agent.NeedsOf(p.agents[x.Agent]); ok && n.Install.Command != "" {
			names = append(names, x.Agent)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// installStep installs something with a network of its own, as a layer.
type installStep struct {
	layer string
	hosts []string
	do    func(ctx context.Context, sb sandbox.Sandbox) error
}

// installSteps are what the base needs: the agents' programs, then the repository's
// dependencies. One step does both, unless the repository names the hosts that its install may
// reach: then that gets no others.
func (b *build) installSteps() []installStep {
	var steps []installStep
	agents := b.by.installing(b.solve.Plan)
	if len(agents) > 0 {
		hosts := HostsIn(b.by.options.InstallEnv)
		for _, name := range agents {
			n, _ := agent.NeedsOf(b.by.agents[name])
			hosts = append(hosts, n.Install.Hosts...)
		}
		steps = append(steps, installStep{sandboxes.AgentsName(b.solve.ID), hosts, b.installAgents})
	}
	if b.setup.Install == "" {
		return steps
	}
	own := installStep{sandboxes.InstallName(b.solve.ID), b.setup.Hosts, b.installRepository}
	if len(agents) == 0 || b.settings().OnlyHosts {
		return append(steps, own)
	}
	both := installStep{layer: own.layer, hosts: slices.Concat(steps[0].hosts, own.hosts)}
	both.do = func(ctx context.Context, sb sandbox.Sandbox) error {
		if err := b.installAgents(ctx, sb); err != nil { // before any code of the repository runs
			return err
		}
		return b.installRepository(ctx, sb)
	}
	return []installStep{both}
}

// installAgent runs an agent's command with a home of its own and removes that afterwards, so
// that the repository's install finds nothing of it.
const installAgent = `mkdir -p %[1]s && cd %[1]s && export HOME="$PWD/.home" && mkdir -p "$HOME" || exit
set -e
%[2]s
rm -rf "$HOME"`

// installAgents installs the programs of agents that live in the sandbox. They are part of the
// base, so that each of its copies has them.
func (b *build) installAgents(ctx context.Context, sb sandbox.Sandbox) error {
	for _, name := range b.by.installing(b.solve.Plan) {
		n, _ := agent.NeedsOf(b.by.agents[name])
		if err := b.installAgent(ctx, sb, name, n.Install); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) installAgent(ctx context.Context, sb sandbox.Sandbox, name string, i agent.Installation) error {
	for _, f := range i.Files {
		if err := f.Put(ctx, sb); err != nil {
			return fmt.Errorf("install agent %s: %w", name, err)
		}
	}
	return b.run(ctx, sb, installation{
		name:    "install agent " + name,
		command: sandbox.Command{Shell: fmt.Sprintf(installAgent, agent.InstallDir, i.Command), Dir: "/tmp"},
		log:     agentLog(name), hosts: b.installSteps()[0].hosts,
		failed: "The agent " + name + " could not be installed in the sandbox",
		help:   "Choose another agent (agents=), or give the sandbox what it lacks (docs/agents.md)",
	})
}
