package solver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/judge"
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
		Hosts:  slices.Concat(judge.Registries(), c.Tests.Hosts, hostsIn(c.Tests.InstallEnv), c.Repository.Hosts),
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
		InstallTime: t.InstallTime, TestTime: t.Time, Tries: t.Tries, Output: int64(t.Output) << 20, RequireFix: t.RequireFix,
		Patch: solve.PatchRules{
			MaxBytes: c.Patch.MaxKiB << 10, MaxFiles: c.Patch.MaxFiles, RefuseInstructions: c.Patch.RefuseInstructions,
		},
		Day:   solve.DayLimit{Solves: c.Daily.Repository.Solves, Money: budget.USD(c.Daily.Repository.USD)},
		Order: c.Order,
	}
}

// settings are those that the solve was planned with. A record of an older version
// has none; it goes on with the configuration.
func (e *Engine) settings(s solve.Solve) solve.Settings {
	if s.Plan.Settings != nil {
		return *s.Plan.Settings
	}
	return e.cfg.settings()
}

func (e *Engine) operator() repoconfig.Operator {
	return e.cfg.Operator(e.Models.Names(), slices.Sorted(maps.Keys(e.Agents)), e.Drivers.Names(), e.Label)
}

// rules are what holds for a solve: the configuration, narrowed by the repository's own
// file. It is read where outsiders cannot write: at the commit that the solve starts
// from. A revision starts from what a model wrote, so there the first solve's commit counts.
func (e *Engine) rules(ctx context.Context, s solve.Solve, base solve.Base) (repoconfig.Rules, error) {
	op := e.operator()
	if !e.cfg.Repository.Read {
		return op.Rules, nil
	}
	sha, err := e.trusted(ctx, s, base)
	if err != nil {
		return op.Rules, err
	}
	name, data, err := e.Hub.Config(ctx, s.Repo, sha)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return op.Rules, nil
	case errors.Is(err, solve.ErrTooLarge):
		return op.Rules, fault.Refuse(repoconfig.Explain(name, []repoconfig.Problem{{Text: repoconfig.TooLarge}}))
	case err != nil:
		return op.Rules, fault.Outside{Err: err}
	}
	rules, problems := repoconfig.Read(name, data, op)
	if len(problems) > 0 {
		return op.Rules, fault.Refuse(repoconfig.Explain(name, problems))
	}
	return rules, nil
}

// trusted is the commit whose settings hold.
func (e *Engine) trusted(ctx context.Context, s solve.Solve, base solve.Base) (string, error) {
	for s.Revises() {
		of, err := e.Store.Solve(ctx, s.Follows.Of)
		if errors.Is(err, solve.ErrNotFound) {
			return "", fault.Refuse(goneText)
		}
		if err != nil {
			return "", err
		}
		s, base = of, of.Base
	}
	return base.SHA, nil
}

// profiled is the request with its profile's values where it has none.
func profiled(r solve.Request, rules repoconfig.Rules) (solve.Request, string, error) {
	if r.Profile == "" {
		return r, "", nil
	}
	name, p, ok := rules.Profile(r.Profile)
	if !ok {
		return r, "", fault.Refuse(rules.UnknownProfile(r.Profile))
	}
	return p.Fill(r), fmt.Sprintf("profile %s is used", name), nil
}

// SetUp is how a repository with these files is installed and tested under settings.
func (c Config) SetUp(t solve.Settings, paths []string, content func(path string) ([]byte, error)) (judge.Setup, error) {
	return setUp(t, hostsIn(c.Tests.InstallEnv), paths, content)
}
