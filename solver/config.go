package solver

import (
	"time"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
)

// Config is the section "solver" of config.yml.
type Config struct {
	// The matrix of a solve that names no values of its own. Every combination is an experiment.
	Defaults Matrix `yaml:"defaults"`
	// When a solve that names no rule ends: all (after every experiment), first_green (after the first candidate that is proven or
	// supported), or waves (the next wave starts only if no candidate is).
	Stop solve.StopRule `yaml:"stop"`
	// The waves for stop: waves, the cheap ones first. Each entry is a matrix like solver.defaults, which gives the values that it
	// leaves out. A solve that names models has one wave for each of them instead.
	Waves []Matrix `yaml:"waves"`
	// The most experiments of one solve, all waves together. A request for more is refused.
	MaxExperiments int `yaml:"max_experiments"`
	// How often a run is started again if its process died or its sandbox could not be opened.
	MaxAttempts int `yaml:"max_attempts"`
	// How many solves this process works on at a time.
	MaxSolves int `yaml:"max_solves"`
	// How many solves clone, install and test their base at a time.
	Preparing int `yaml:"preparing"`
	// The most runs at a time; 0 is no limit.
	Caps solve.Caps `yaml:"caps"`
	// Limits of a run and of a whole solve; 0 is none. A request can lower them, never raise them.
	Limits Limits `yaml:"limits"`
	// Limits of any 24 hours; 0 is no limit. A solve counts from its start; refused ones do not count. A running solve counts with
	// everything that it may still cost (limits.solve_usd). A new solve gets what is left, and is refused if that is less than a
	// cent.
	Daily budget.Daily `yaml:"daily"`
	// How long a process that stops answering keeps its work, 2s or more.
	LeaseTime time.Duration `yaml:"lease_time"`
	// How often yudai looks for leftover sandboxes, 1s or more.
	SweepEvery time.Duration `yaml:"sweep_every"`
	// Texts that an experiment adds to the agent's task, by name; "" adds nothing.
	Strategies map[string]string `yaml:"strategies"`
	// How repositories are installed and tested. What is "" is detected from their files: the first language that has tests in the
	// root, and what its lock file names. Texts say which lock file could not be obeyed, and which other tests were not run.
	Tests Tests `yaml:"tests"`
	// The name of the solve's branch. {issue} and {solve} are replaced, and {solve} is required.
	Branch string `yaml:"branch"`
	// How many commits of history the agent sees; 0 is all.
	CloneDepth int `yaml:"clone_depth"`
	// The criteria that rank candidates, most important first; [] is the order of solver.rule.
	Order []string `yaml:"order"`
	// The order of criteria by name: evidence (passed, code, keeps_tests, fixes, steady, cross, proof, record, agreement, typical,
	// files, size, latency, temperature, model, run), or smallest (passed, keeps_tests, fixes, files, size, latency, temperature,
	// model, run).
	Rule string `yaml:"rule"`
	// Whether track records are used: how often the candidates of a model with its agent and strategy were right, which yudai counts
	// from verdicts, from pull requests that were merged or closed, and from the tests of somebody else's pull request that closed
	// the issue, which run on the candidates while nothing is solved. With false no plan uses them, no such tests run, and
	// models=auto is refused.
	Record bool `yaml:"record"`
	// What becomes of a champion that is unproven (no test that was there and no candidate of another model shows that it is right):
	// draft (a draft pull request), ready (a pull request like any other), or comment (no pull request: the comment names the
	// candidate, and /yudai pick opens one).
	Unproven solve.UnprovenRule `yaml:"unproven"`
	// When one more run, the reproducer, writes tests from the issue alone, which fail on the base and are then run on every
	// candidate: auto (where no test fails on the base, and there are several experiments), off, or always. It takes a model of the
	// solve that is not the cheapest, costs from the same budget, and cannot become champion.
	Reproduce solve.ReproduceRule `yaml:"reproduce"`
	// Whether the reproducer's tests go into the pull request, as a commit before the champion's: where the champion brings no test,
	// and it and a candidate of another model pass them all.
	PublishTests bool `yaml:"publish_tests"`
	// Which patches are refused, whatever their tests say.
	Patch Patch `yaml:"patch"`
	// Requests with a name, for /yudai solve profile=NAME or a label of their own, such as {cheap: {models: [gpt-5-mini]}}. A
	// profile may have the keys label, models, temps, edits, strategies, agents and repeat as in defaults, solve_usd, solve_time
	// and parallel as in limits, sandbox (a driver), and stop. Defaults and limits fill in what neither the person nor the profile
	// names.
	Profiles map[string]repoconfig.Profile `yaml:"profiles"`
	// What a repository may set in its own .github/yudai.yml on the base commit, or an owner for all repositories in yudai.yml of
	// the repository .github (see docs/repository-config.md). Such a file can lower limits, close the network and protect paths;
	// it never raises a limit.
	Repository Repository `yaml:"repository"`
}

// Repository says what .github/yudai.yml of a repository may set.
type Repository struct {
	// Whether the file is read. If it is, and server.label has a colon, every label with the same prefix asks for a solve with the
	// profile that it names.
	Read bool `yaml:"read"`
	// Whether the file may name the commands that install and test. They run in the sandbox.
	Commands bool `yaml:"commands"`
	// Whether the file may add strategies, or replace the texts of those above.
	Strategies bool `yaml:"strategies"`
	// Hosts that the file may open during the installation, exact names or *.example.org, beside tests.hosts and the public
	// package registries of the detected tools.
	Hosts []string `yaml:"hosts"`
}

// Matrix holds the axes' default values.
type Matrix struct {
	// Names from models.models. A file that lists models and sets no names here means its first two.
	Models []string `yaml:"models"`
	// Temperatures, 0 to 2. A model that takes none runs once instead of once for each.
	Temps []float64 `yaml:"temps"`
	// Limits of steps that change the work tree, 0 to 1000; 0 is no limit.
	Edits []int `yaml:"edits"`
	// Names from solver.strategies.
	Strategies []string `yaml:"strategies"`
	// Agents: mini, those that live in the sandbox (mini-swe-agent, claude-code, codex, opencode; see docs/agents.md), swe-agent,
	// and names from agents.commands.
	Agents []string `yaml:"agents"`
	// How often each experiment runs, 1 to 20.
	Repeat int `yaml:"repeat"`
}

// Limits in the units people write; 0 is no limit.
type Limits struct {
	// Time of the agent in one run.
	RunTime time.Duration `yaml:"run_time"`
	// Replies of the model in one run.
	RunSteps int `yaml:"run_steps"`
	// Model costs of one run, in US dollars.
	RunUSD float64 `yaml:"run_usd"`
	// Command output in one run, in MiB.
	RunOutput int `yaml:"run_output_mib"`
	// Time of one command of the agent.
	CommandTime time.Duration `yaml:"command_time"`
	// Time of a solve, from its claim to its champion.
	SolveTime time.Duration `yaml:"solve_time"`
	// Model costs of a solve, all runs together, in US dollars.
	SolveUSD float64 `yaml:"solve_usd"`
	// Runs of one solve at a time, 1 or more.
	Parallel int `yaml:"parallel"`
}

// Tests override what yudai detects, and bound it.
type Tests struct {
	// The test command, for bash in the repository.
	Command string `yaml:"command"`
	// How results are read: go (go test -json), junit, jest (the file of jest --json), tap (on standard output), cargo (what cargo
	// test prints), or exit (the exit code alone).
	Format string `yaml:"format"`
	// The report files that the command writes, a glob in the repository; required for junit and jest.
	Report string `yaml:"report"`
	// The command that installs dependencies, once for each base.
	Install string `yaml:"install"`
	// Hosts that may be reached during the installation, exact names or *.example.org, beside the package registries of the
	// detected tools.
	Hosts []string `yaml:"hosts"`
	// Variables of the install command, such as GOPROXY, PIP_INDEX_URL or npm_config_registry for your own mirror. Hosts of URLs
	// in them may be reached, too. Put no secrets here: the code of every installed package can read them.
	InstallEnv map[string]string `yaml:"install_env"`
	// Time of the install command.
	InstallTime time.Duration `yaml:"install_time"`
	// Time of one test run.
	Time time.Duration `yaml:"time"`
	// The most test runs, to find flaky tests: if a test fails on the base, or with a candidate, the tests run again, up to this
	// number (on the base those that failed, where the runner can be asked for them; if these pass then, all once more). A test
	// that does not fail each time is flaky and ignored. 1 trusts the first run.
	Tries int `yaml:"tries"`
	// The most runs of one candidate's new tests on another candidate, after all experiments ended; 0 is none. Only the tests that
	// fail without their author's change run. Also the most candidates on which such tests of somebody else's pull request run.
	CrossRuns int `yaml:"cross_runs"`
	// Time of all these runs together.
	CrossTime time.Duration `yaml:"cross_time"`
	// How much of the tests' output is read, in MiB.
	Output int `yaml:"output_mib"`
	// Asked says that the commands are the wish of whoever asks for the solve: a
	// repository's own do not replace them.
	Asked bool `yaml:"-"`
}

// Patch bounds what a candidate may be.
type Patch struct {
	// The largest patch, in KiB.
	MaxKiB int `yaml:"max_kib"`
	// The most files in a patch.
	MaxFiles int `yaml:"max_files"`
	// Whether a patch is refused if it changes files that instruct agents (AGENTS.md and the like). Otherwise it is flagged.
	RefuseInstructions bool `yaml:"refuse_instructions"`
}

// DefaultConfig is the built-in configuration.
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
			"plain": "",
			"test-first": "Before you change anything, write a test that fails because of this issue, " +
				"and keep it in the repository's test suite.",
			"stacktrace-first": "Start from the error text or stack trace in the issue: " +
				"find the exact line it comes from, and explain the cause before you change anything.",
			"small-steps": "Make the smallest change you can think of, run the tests, and only then decide on the next one.",
		},
		Tests: Tests{
			InstallTime: 10 * time.Minute, Time: 10 * time.Minute, Tries: 2, CrossRuns: 12, CrossTime: 10 * time.Minute, Output: 64,
			Hosts: []string{}, InstallEnv: map[string]string{},
		},
		Branch: "ai/fix-{issue}-{solve}",
		Order:  []string{}, Rule: solve.RuleEvidence, Record: true, Unproven: solve.UnprovenDraft,
		Reproduce: solve.ReproduceAuto, PublishTests: true,
		Patch: Patch{MaxKiB: 1024, MaxFiles: 100},

		Profiles:   map[string]repoconfig.Profile{},
		Repository: Repository{Read: true, Commands: true, Strategies: true, Hosts: []string{}},
	}
}

// limits is the section in the units of package solve.
func (l Limits) limits() solve.Limits {
	return solve.Limits{
		RunTime: l.RunTime, RunSteps: l.RunSteps, RunMoney: budget.USD(l.RunUSD), RunOutput: int64(l.RunOutput) << 20,
		CommandTime: l.CommandTime, SolveTime: l.SolveTime, SolveMoney: budget.USD(l.SolveUSD), Parallel: l.Parallel,
	}
}
