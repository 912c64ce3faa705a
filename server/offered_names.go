package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/agent/presets"
	"github.com/yudai-dev/yudai/agent/sweagent"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
)

// vocabulary holds the names that requests may use with this configuration.
func (c Config) vocabulary() handlers.Vocabulary {
	v := handlers.Vocabulary{Agents: c.agentNames()}
	for _, m := range c.Models.Models {
		v.Models = append(v.Models, m.Name)
	}
	for name := range c.Solver.Strategies {
		v.Strategies = append(v.Strategies, name)
	}
	slices.Sort(v.Strategies)
	v.Profiles = slices.Sorted(maps.Keys(c.Solver.Profiles))
	v.Sandboxes = c.Sandbox.Offered()
	return v
}

// operator is what this configuration lets the file of a repository say.
func (c Config) operator() repoconfig.Operator {
	v := c.vocabulary()
	return c.Solver.Operator(v.Models, v.Agents, v.Sandboxes, c.Server.Label)
}

// openVocabulary is the vocabulary where the repository of a request may have names of
// its own, which are looked up when its solve is planned.
func (c Config) openVocabulary() handlers.Vocabulary {
	v := c.vocabulary()
	v.Open = c.Solver.Repository.Read
	return v
}

// labels are the labels that ask for a solve, each with its profile.
func (c Config) labels() map[string]string {
	labels := map[string]string{}
	for name, p := range c.Solver.Profiles {
		if p.Label != "" {
			labels[p.Label] = name
		}
	}
	labels[c.Server.Label] = "" // the default profile
	return labels
}

// labelPrefix is what the labels of repositories' own profiles begin with, "" if they
// are not noticed.
func (c Config) labelPrefix() string {
	if !c.Solver.Repository.Read {
		return ""
	}
	return repoconfig.LabelPrefix(c.Server.Label)
}

// checkProfiles reports what is wrong with the operator's own profiles.
func (c Config) checkProfiles(report func(key, problem string)) {
	op, owners := c.operator(), map[string]string{strings.ToLower(c.Server.Label): "server.label"}
	for _, name := range slices.Sorted(maps.Keys(c.Solver.Profiles)) {
		p := c.Solver.Profiles[name]
		op.CheckProfile(name, p, report)
		if p.Label == "" {
			continue
		}
		label := strings.ToLower(p.Label)
		if owner, taken := owners[label]; taken {
			report("profiles."+name+".label", fmt.Sprintf("%q is the label of %s already", p.Label, owner))
		}
		owners[label] = "solver.profiles." + name
	}
}

// checkAxes reports values of a matrix that no request could have.
func (c Config) checkAxes(at string, m solver.Matrix, report func(key, problem string)) {
	c.vocabulary().Check(solve.Request{
		Models: m.Models, Temps: m.Temps, Edits: m.Edits, Strategies: m.Strategies, Agents: m.Agents, Repeat: m.Repeat,
	}, func(p handlers.Problem) {
		key := at + "." + p.Key
		if p.Key != "repeat" {
			key += fmt.Sprintf(".%d", p.Index)
		}
		report(key, plain(p))
	})
}

// plain is the problem of a request as text for terminals and logs.
func plain(p handlers.Problem) string {
	text := fmt.Sprintf("%q %s", p.Word, strings.ReplaceAll(p.Text, "`", ""))
	if p.Nearest != "" {
		text += "; did you mean " + p.Nearest + "?"
	}
	return text
}

// programs are the agents that live in the sandbox: the built-in ones, and those of
// config.yml.
func (c Config) programs() []command.Program {
	all := append([]command.Program{miniswe.Program()}, presets.All()...)
	for _, e := range c.Agents.Commands {
		all = append(all, e.Program())
	}
	return all
}

// agents are all that this configuration has, by the name used in agents=. queried is told of the native one's calls.
func (c Config) agents(queried func(model string, used solve.Usage, err error)) map[string]agent.Agent {
	mini := agent.NewMini(c.Agent)
	mini.Queried = queried
	all := map[string]agent.Agent{"mini": mini, "swe-agent": sweagent.New(c.SWEAgent, c.Agents.Patience)}
	for _, p := range c.programs() {
		all[p.Name] = command.New(p, c.Agents)
	}
	return all
}

// agentNames are their names: the built-in ones in their order, then the others.
func (c Config) agentNames() []string {
	have := c.agents(nil)
	var names []string
	for _, name := range slices.Concat(command.Builtin(), slices.Sorted(maps.Keys(have))) {
		if _, ok := have[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
