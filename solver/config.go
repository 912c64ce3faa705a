package solver

import (
	"time"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/solver/judge"
)

// Config is the section "solver" of config.yml.
type Config struct {
	// Defaults are the matrix of a solve that names no values.
	Defaults Matrix `yaml:"defaults"`
	// Stop is the stop rule of solves that name none; Waves are those of solve.StopWaves, whose
	// empty axes have the values of Defaults.
	Stop  solve.StopRule `yaml:"stop"`
	Waves []Matrix       `yaml:"waves"`
	// MaxExperiments bounds the matrix, or all waves together.
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
	// Daily bounds how many solves are started in 24 hours, and what they cost.
	Daily budget.Daily `yaml:"daily"`
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
	// Profiles are requests under a name.
	Profiles map[string]repoconfig.Profile `yaml:"profiles"`
	// Repository says what the file of a repository may set.
	Repository Repository `yaml:"repository"`
}

// Repository says what .github/yudai.yml of a repository may set.
type Repository struct {
	// Read says whether it is read at all.
	Read bool `yaml:"read"`
	// Commands and Strategies say whether it may name its own.
	Commands   bool `yaml:"commands"`
	Strategies bool `yaml:"strategies"`
	// Hosts may be opened by it while dependencies are installed, beside the package
	// registries and the operator's own hosts.
	Hosts []string `yaml:"hosts"`
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
	// InstallEnv are variables of the install command, and of nothing else; the hosts of URLs in them may be reached, too.
	InstallEnv map[string]string `yaml:"install_env"`
	// InstallTime and Time bound the install command and one run of the tests.
	InstallTime time.Duration `yaml:"install_time"`
	Time        time.Duration `yaml:"time"`
	// Tries is how often a run of the tests is made at most in which one fails, to find the flaky ones.
	Tries int `yaml:"tries"`
	// Output is how much of the tests' output is read.
	Output int `yaml:"output_mib"`
	// RequireFix: where tests fail on the base, a candidate must fix one of them or bring a new passing test.
	RequireFix bool `yaml:"require_fix"`
	// Asked says that the commands are the wish of whoever asks for the solve: a
	// repository's own do not replace them.
	Asked bool `yaml:"-"`
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
		Stop: solve.StopAll, Waves: []Matrix{},
		MaxExperiments: 24, MaxAttempts: 2, MaxSolves: 64, Preparing: 2,
		Caps: solve.Caps{Process: 8, Installation: 0, Repository: 4},
		Limits: Limits{
			RunTime: 20 * time.Minute, RunSteps: 80, RunUSD: 2, RunOutput: 64, CommandTime: 2 * time.Minute,
			SolveTime: time.Hour, SolveUSD: 10, Parallel: 4,
		},
		Daily: budget.Daily{
			Repository:   budget.Day{Solves: 100, USD: 300},
			Installation: budget.Day{Solves: 0, USD: 1000},
			Process:      budget.Day{Solves: 0, USD: 2000},
		},
		LeaseTime: 20 * time.Second, SweepEvery: 2 * time.Minute,
		Strategies: map[string]string{
			"plain":            "",
			"test-first":       "Before you change anything, write a test that fails because of this issue, and keep it in the repository's test suite.",
			"stacktrace-first": "Start from the error text or stack trace in the issue: find the exact line it comes from, and explain the cause before you change anything.",
			"small-steps":      "Make the smallest change you can think of, run the tests, and only then decide on the next one.",
		},
		Tests: Tests{
			InstallTime: 10 * time.Minute, Time: 10 * time.Minute, Tries: 2, Output: 64, RequireFix: true,
			Hosts: []string{}, InstallEnv: map[string]string{},
		},
		Branch: "ai/fix-{issue}-{solve}",
		Order:  []string{},
		Patch:  Patch{MaxKiB: 1024, MaxFiles: 100},

		Profiles:   map[string]repoconfig.Profile{},
		Repository: Repository{Read: true, Commands: true, Strategies: true, Hosts: []string{}},
	}
}

// trial is how tests are run.
func trial(t solve.Settings, test solve.TestCommand) judge.Trial {
	return judge.Trial{Test: test, Timeout: t.TestTime, MaxOutput: t.Output, Tries: t.Tries}
}

// limits is the section in the units of package solve.
func (l Limits) limits() solve.Limits {
	return solve.Limits{
		RunTime: l.RunTime, RunSteps: l.RunSteps, RunMoney: budget.USD(l.RunUSD), RunOutput: int64(l.RunOutput) << 20,
		CommandTime: l.CommandTime, SolveTime: l.SolveTime, SolveMoney: budget.USD(l.SolveUSD), Parallel: l.Parallel,
	}
}
