package server

import (
	"maps"
	"slices"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/agent/presets"
	"github.com/yudai-dev/yudai/agent/sweagent"
)

// programs are the agents that live in the sandbox: the built-in ones, and those of
// config.yml.
func (c Config) programs() []command.Program {
	all := append([]command.Program{miniswe.Program()}, presets.All()...)
	for _, e := range c.Agents.Commands {
		all = append(all, e.Program())
	}
	return all
}

// agents are all that this configuration has, by the name used in agents=.
func (c Config) agents() map[string]agent.Agent {
	all := map[string]agent.Agent{"mini": agent.NewMini(c.Agent), "swe-agent": sweagent.New(c.SWEAgent, c.Agents.Patience)}
	for _, p := range c.programs() {
		all[p.Name] = command.New(p, c.Agents)
	}
	return all
}

// agentNames are their names: the built-in ones in their order, then the others.
func (c Config) agentNames() []string {
	have := c.agents()
	var names []string
	for _, name := range slices.Concat(command.Builtin(), slices.Sorted(maps.Keys(have))) {
		if _, ok := have[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
