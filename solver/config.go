package solver

import (
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Config is the section "solver" of config.yml.
type Config struct {
	// Defaults are the matrix of a solve that names no values.
	Defaults Matrix `yaml:"defaults"`
	// MaxExperiments bounds the matrix.
	MaxExperiments int `yaml:"max_experiments"`
	// MaxAttempts is how often a run whose owner died, or whose sandbox could not be opened, is started.
	MaxAttempts int `yaml:"max_attempts"`
	// MaxSolves is how many solves one process works on at a time; Preparing how many of them prepare a base.
	MaxSolves int `yaml:"max_solves"`
	Preparing int `yaml:"preparing"`
	// Caps bound the running runs.
	Caps solve.Caps `yaml:"caps"`
	// Limits of a run and of a solve; a request may narrow them.
	Limits Limits `yaml:"limits"`
	// LeaseTime is how long a node that stops renewing keeps its work.
	LeaseTime time.Duration `yaml:"lease_time"`
	// SweepEvery is how often leftover sandboxes are looked for.
	SweepEvery time.Duration `yaml:"sweep_every"`
	// Strategies are the texts an experiment may add to the prompt.
	Strategies map[string]string `yaml:"strategies"`
	// Tests say how a repository is installed and tested where detection is not wanted.
	Tests Tests `yaml:"tests"`
	// Branch is the template of the solve's branch: {issue} and {solve} are replaced.
	Branch string `yaml:"branch"`
	// CloneDepth is how many commits of history the sandbox sees; 0 is all.
	CloneDepth int `yaml:"clone_depth"`
	// Order is the reducer's order of criteria; empty is the built-in one.
	Order []string `yaml:"order"`
	// Patch says which patches are refused.
	Patch Patch `yaml:"patch"`
}

// Matrix holds the axes' default values.
type Matrix struct {
	Models     []string  `yaml:"models"`
	Temps      []float64 `yaml:"temps"`
	Edits      []int     `yaml:"edits"`
	Strategies []string  `yaml:"strategies"`
	Agents     []string  `yaml:"agents"`
	Repeat     int       `yaml:"repeat"`
}

// Limits in the units people write; 0 is no limit.
type Limits struct {
	RunTime     time.Duration `yaml:"run_time"`
	RunSteps    int           `yaml:"run_steps"`
	RunUSD      float64       `yaml:"run_usd"`
	RunOutput   int           `yaml:"run_output_mib"`
	CommandTime time.Duration `yaml:"command_time"`
	SolveTime   time.Duration `yaml:"solve_time"`
	SolveUSD    float64       `yaml:"solve_usd"`
	Parallel    int           `yaml:"parallel"`
}

// Tests override what yudai detects, and bound it.
type Tests struct {
	Command string `yaml:"command"`
	Format  string `yaml:"format"`
	Report  string `yaml:"report"`
	Install string `yaml:"install"`
	// Hosts may be reached while dependencies are installed, beside those detection names.
	Hosts []string `yaml:"hosts"`
	// InstallTime and Time bound the install command and one run of the tests.
	InstallTime time.Duration `yaml:"install_time"`
	Time        time.Duration `yaml:"time"`
	// Output is how much of the tests' output is read.
	Output int `yaml:"output_mib"`
	// RequireFix: where tests fail on the base, a candidate must fix one of them or bring a new passing test.
	RequireFix bool `yaml:"require_fix"`
}

// Patch bounds what a candidate may be.
type Patch struct {
	MaxKiB   int `yaml:"max_kib"`
	MaxFiles int `yaml:"max_files"`
	// RefuseInstructions refuses patches that touch files that tell other agents what to do (AGENTS.md, ...).
	RefuseInstructions bool `yaml:"refuse_instructions"`
}

// DefaultConfig is what config.yml documents.
func DefaultConfig() Config {
	return Config{
		Defaults: Matrix{
			Models: []string{"gpt-5-mini", "claude-haiku-4-5"}, Temps: []float64{0.2, 0.6}, Edits: []int{0},
			Strategies: []string{"plain"}, Agents: []string{"mini"}, Repeat: 1,
		},
		MaxExperiments: 24, MaxAttempts: 2, MaxSolves: 64, Preparing: 2,
		Caps: solve.Caps{Process: 8, Installation: 0, Repository: 4},
		Limits: Limits{
			RunTime: 20 * time.Minute, RunSteps: 80, RunUSD: 2, RunOutput: 64, CommandTime: 2 * time.Minute,
			SolveTime: time.Hour, SolveUSD: 10, Parallel: 4,
		},
		LeaseTime: 20 * time.Second, SweepEvery: 2 * time.Minute,
		Strategies: map[string]string{
			"plain":            "",
			"test-first":       "Before you change anything, write a test that fails because of this issue, and keep it in the repository's test suite.",
			"stacktrace-first": "Start from the error text or stack trace in the issue: find the exact line it comes from, and explain the cause before you change anything.",
			"small-steps":      "Make the smallest change you can think of, run the tests, and only then decide on the next one.",
		},
		Tests: Tests{
			InstallTime: 10 * time.Minute, Time: 10 * time.Minute, Output: 64, RequireFix: true,
			Hosts: []string{},
		},
		Branch: "ai/fix-{issue}-{solve}",
		Order:  []string{},
		Patch:  Patch{MaxKiB: 1024, MaxFiles: 100},
	}
}

// Validate reports every value that cannot work.
func (c Config) Validate(report func(key, problem string)) {
	atLeast := func(key string, v, least int) {
		if v < least {
			report(key, fmt.Sprintf("is %d, must be at least %d", v, least))
		}
	}
	atLeast("max_experiments", c.MaxExperiments, 1)
	atLeast("max_attempts", c.MaxAttempts, 1)
	atLeast("max_solves", c.MaxSolves, 1)
	atLeast("preparing", c.Preparing, 1)
	atLeast("caps.process", c.Caps.Process, 1)
	atLeast("caps.installation", c.Caps.Installation, 0)
	atLeast("caps.repository", c.Caps.Repository, 0)
	atLeast("limits.parallel", c.Limits.Parallel, 1)
	atLeast("limits.run_steps", c.Limits.RunSteps, 0)
	atLeast("limits.run_output_mib", c.Limits.RunOutput, 0)
	atLeast("clone_depth", c.CloneDepth, 0)
	atLeast("patch.max_kib", c.Patch.MaxKiB, 1)
	atLeast("patch.max_files", c.Patch.MaxFiles, 1)
	atLeast("tests.output_mib", c.Tests.Output, 1)
	atLeast("defaults.repeat", c.Defaults.Repeat, 1)
	for key, v := range map[string]float64{"limits.run_usd": c.Limits.RunUSD, "limits.solve_usd": c.Limits.SolveUSD} {
		if v < 0 {
			report(key, "must not be negative; 0 is no limit")
		}
	}
	for key, v := range map[string]time.Duration{
		"limits.run_time": c.Limits.RunTime, "limits.solve_time": c.Limits.SolveTime, "limits.command_time": c.Limits.CommandTime,
		"tests.install_time": c.Tests.InstallTime, "tests.time": c.Tests.Time,
	} {
		if v < 0 || (v > 0 && v < time.Second) {
			report(key, fmt.Sprintf("is %s, must be at least 1s (write a unit: 90s, 20m)", v))
		}
	}
	if c.LeaseTime < 2*time.Second {
		report("lease_time", fmt.Sprintf("is %s, must be at least 2s", c.LeaseTime))
	}
	if c.SweepEvery < time.Second {
		report("sweep_every", fmt.Sprintf("is %s, must be at least 1s", c.SweepEvery))
	}
	for i, name := range c.Defaults.Strategies {
		if _, ok := c.Strategies[name]; !ok {
			report(fmt.Sprintf("defaults.strategies.%d", i), fmt.Sprintf("%q is not one of solver.strategies", name))
		}
	}
	switch c.Tests.Format {
	case "", "go", "junit", "exit":
	default:
		report("tests.format", fmt.Sprintf("is %q, must be go, junit or exit", c.Tests.Format))
	}
	if c.Tests.Format == "junit" && c.Tests.Report == "" {
		report("tests.report", "must name the JUnit files (a glob) when tests.format is junit")
	}
	if err := (solve.Rule{Order: c.Order}).Validate(); err != nil {
		report("order", err.Error())
	}
	if _, err := solve.BranchName(c.Branch, solve.Solve{ID: "0", Issue: solve.Issue{Number: 1}}); err != nil {
		report("branch", err.Error())
	}
}

// usd turns dollars into Money.
func usd(v float64) solve.Money { return solve.Money(v*1e6 + 0.5) }

// limits is the section in the units of package solve.
func (l Limits) limits() solve.Limits {
	return solve.Limits{
		RunTime: l.RunTime, RunSteps: l.RunSteps, RunMoney: usd(l.RunUSD), RunOutput: int64(l.RunOutput) << 20,
		CommandTime: l.CommandTime, SolveTime: l.SolveTime, SolveMoney: usd(l.SolveUSD), Parallel: l.Parallel,
	}
}
