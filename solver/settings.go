package solver

import (
	"maps"
	"slices"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/plan"
	"github.com/yudai-dev/yudai/solver/prepare"
)

// Operator is what the configuration lets a repository's own file say. models are the
// configured models, agents the agents, sandboxes the drivers that are offered, label asks
// for a solve without a profile.
func (c Config) Operator(models, agents, sandboxes []string, label string) repoconfig.Operator {
	return repoconfig.Operator{
		Rules: repoconfig.Rules{
			Settings: c.settings(), Limits: c.Limits.limits(), MaxExperiments: c.MaxExperiments,
			Strategies: c.Strategies, Profiles: c.Profiles, Stop: c.Stop,
		},
		Waves:    len(c.Waves) > 0,
		Commands: c.Repository.Commands, Texts: c.Repository.Strategies,
		KeepTest: c.Tests.Asked && c.Tests.Command != "", KeepInstall: c.Tests.Asked && c.Tests.Install != "",
		Hosts:  slices.Concat(judge.Registries(), c.Tests.Hosts, prepare.HostsIn(c.Tests.InstallEnv), c.Repository.Hosts),
		Models: models, Agents: agents, Sandboxes: sandboxes, Label: label,
	}
}

// Matrix is what a request for a matrix is filled with, under the rules of its repository.
// nil models or agents allow any name.
func (c Config) Matrix(rules repoconfig.Rules, models, agents []string) solve.Defaults {
	d := c.Defaults
	return solve.Defaults{
		Models: d.Models, Temps: d.Temps, Edits: d.Edits, Strategies: d.Strategies, Agents: d.Agents, Repeat: d.Repeat,
		MaxExperiments: rules.MaxExperiments, Limits: rules.Limits, StrategyText: rules.Strategies,
		KnownModels: models, KnownAgents: agents,
		Stop: rules.Stop, Waves: c.waves(),
	}
}

func (c Config) waves() (out []solve.Wave) {
	for _, w := range c.Waves {
		out = append(out, solve.Wave(w))
	}
	return out
}

// settings are those of a repository without a file of its own.
func (c Config) settings() solve.Settings {
	t := c.Tests
	return solve.Settings{
		Test:    solve.TestCommand{Command: t.Command, Format: t.Format, Report: t.Report, Source: "config"},
		Install: t.Install, Hosts: t.Hosts,
		InstallTime: t.InstallTime, TestTime: t.Time, Tries: t.Tries, CrossRuns: t.CrossRuns, CrossTime: t.CrossTime,
		Output: int64(t.Output) << 20,
		Patch: solve.PatchRules{
			MaxBytes: c.Patch.MaxKiB << 10, MaxFiles: c.Patch.MaxFiles, RefuseInstructions: c.Patch.RefuseInstructions,
		},
		Day:   solve.DayLimit{Solves: c.Daily.Repository.Solves, Money: budget.USD(c.Daily.Repository.USD)},
		Order: c.order(), Unproven: c.Unproven, Reproduce: c.Reproduce, PublishTests: c.PublishTests,
	}
}

// order is the configured one, else that of the named rule; none is the built-in one.
func (c Config) order() []string {
	if len(c.Order) > 0 || c.Rule == solve.RuleEvidence {
		return c.Order
	}
	return solve.OrderOf(c.Rule)
}

// planRules are what the configuration says about plans.
func (c Config) planRules(parts Parts) plan.Rules {
	agents := slices.Sorted(maps.Keys(parts.Agents))
	return plan.Rules{
		Operator: func() repoconfig.Operator {
			return c.Operator(parts.Models.Names(), agents, parts.Drivers.Names(), parts.Label)
		},
		Defaults:       func(rules repoconfig.Rules) solve.Defaults { return c.Matrix(rules, parts.Models.Names(), agents) },
		ReadRepository: c.Repository.Read, Branch: c.Branch, Records: c.Record,
	}
}

// SetUp is how a repository with these files is installed and tested under settings.
func (c Config) SetUp(t solve.Settings, paths []string, content func(path string) ([]byte, error)) (judge.Setup, error) {
	return prepare.SetUp(t, prepare.HostsIn(c.Tests.InstallEnv), paths, content)
}
