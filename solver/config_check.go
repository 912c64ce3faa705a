package solver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/spelling"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
)

// Bounds of settings. Far above what anybody needs, and low enough that a slip of
// the hand is found and no number of bytes or millionths overflows.
const (
	mostExperiments = 1000
	mostCount       = 100_000
	mostMiB         = 64 << 10
	mostUSD         = 1_000_000
)

// Validate reports every value that cannot work.
func (c Config) Validate(report func(key, problem string)) {
	c.checkNumbers(report)
	c.checkTimes(report)
	c.checkNames(report)
	c.Tests.check(report)
	checkHosts("repository.hosts", c.Repository.Hosts, report)
	c.checkStop(report)
	if err := (solve.Rule{Order: c.Order}).Validate(); err != nil {
		report("order", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	badRule, badUnproven := solve.CheckNames(c.Rule, c.Unproven)
	if badRule != nil {
		report("rule", badRule.Error())
	}
	if badUnproven != nil {
		report("unproven", badUnproven.Error())
	}
	if err := solve.BadReproduceRule(c.Reproduce); err != nil {
		report("reproduce", err.Error())
	}
	if _, err := solve.BranchName(c.Branch, solve.Solve{ID: "0", Issue: solve.Issue{Number: 1}}); err != nil {
		report("branch", err.Error())
	}
}

func (c Config) checkNumbers(report func(key, problem string)) {
	for _, n := range []struct {
		key            string
		v, least, most int
	}{
		{"max_experiments", c.MaxExperiments, 1, mostExperiments},
		{"max_attempts", c.MaxAttempts, 1, 100},
		{"max_solves", c.MaxSolves, 1, mostCount},
		{"preparing", c.Preparing, 1, mostCount},
		{"caps.process", c.Caps.Process, 1, mostCount},
		{"caps.installation", c.Caps.Installation, 0, mostCount},
		{"caps.repository", c.Caps.Repository, 0, mostCount},
		{"daily.repository.solves", c.Daily.Repository.Solves, 0, mostCount},
		{"daily.installation.solves", c.Daily.Installation.Solves, 0, mostCount},
		{"daily.process.solves", c.Daily.Process.Solves, 0, mostCount},
		{"limits.parallel", c.Limits.Parallel, 1, mostCount},
		{"limits.run_steps", c.Limits.RunSteps, 0, mostCount},
		{"limits.run_output_mib", c.Limits.RunOutput, 0, mostMiB},
		{"clone_depth", c.CloneDepth, 0, 1_000_000_000},
		{"patch.max_kib", c.Patch.MaxKiB, 1, 1 << 20},
		{"patch.max_files", c.Patch.MaxFiles, 1, mostCount},
		{"tests.output_mib", c.Tests.Output, 1, mostMiB},
		{"tests.tries", c.Tests.Tries, 1, 10},
		{"tests.cross_runs", c.Tests.CrossRuns, 0, 1000},
		{"defaults.repeat", c.Defaults.Repeat, 1, mostExperiments},
	} {
		switch {
		case n.v < n.least:
			report(n.key, fmt.Sprintf("is %d, must be at least %d", n.v, n.least))
		case n.v > n.most:
			report(n.key, fmt.Sprintf("is %d, must be at most %d", n.v, n.most))
		}
	}
	c.checkMoney(report)
}

func (c Config) checkMoney(report func(key, problem string)) {
	for _, m := range []struct {
		key   string
		v     float64
		least solve.Money
	}{
		{"limits.run_usd", c.Limits.RunUSD, 1}, {"limits.solve_usd", c.Limits.SolveUSD, 1},
		{"daily.repository.usd", c.Daily.Repository.USD, budget.LeastMoney},
		{"daily.installation.usd", c.Daily.Installation.USD, budget.LeastMoney},
		{"daily.process.usd", c.Daily.Process.USD, budget.LeastMoney},
	} {
		switch {
		case !(m.v >= 0 && m.v <= mostUSD): // true for NaN
			report(m.key, fmt.Sprintf("must be 0 to %d US dollars; 0 is no limit", mostUSD))
		case m.v > 0 && m.least == 1 && budget.USD(m.v) == 0:
			report(m.key, "is less than a millionth of a dollar; 0 is no limit")
		case m.v > 0 && budget.USD(m.v) < m.least:
			report(m.key, "is less than a cent; 0 is no limit")
		}
	}
}

func (c Config) checkTimes(report func(key, problem string)) {
	for _, t := range []struct {
		key string
		v   time.Duration
	}{
		{"limits.run_time", c.Limits.RunTime}, {"limits.solve_time", c.Limits.SolveTime}, {"limits.command_time", c.Limits.CommandTime},
		{"tests.install_time", c.Tests.InstallTime}, {"tests.time", c.Tests.Time}, {"tests.cross_time", c.Tests.CrossTime},
	} {
		if t.v < 0 || (t.v > 0 && t.v < time.Second) {
			report(t.key, fmt.Sprintf("is %s, must be at least 1s (write a unit: 90s, 20m)", t.v))
		}
	}
	if c.LeaseTime < 2*time.Second || c.LeaseTime > time.Hour {
		report("lease_time", fmt.Sprintf("is %s, must be 2s to 1h", c.LeaseTime))
	}
	if c.SweepEvery < time.Second {
		report("sweep_every", fmt.Sprintf("is %s, must be at least 1s", c.SweepEvery))
	}
}

// checkStop checks the stop rule. Package server checks the values of the waves, because it
// knows all names.
func (c Config) checkStop(report func(key, problem string)) {
	bad, near := solve.BadStopRule(c.Stop)
	if near != "" {
		bad += "; did you mean " + near + "?"
	}
	switch {
	case c.Stop == "":
		report("stop", "is empty: write all, first_green or waves")
	case bad != "":
		report("stop", fmt.Sprintf("%q %s", c.Stop, bad))
	case c.Stop == solve.StopWaves && len(c.Waves) == 0:
		report("waves", "has no waves, and solver.stop is waves: name one, like [{models: [small]}, {models: [large]}]")
	}
	if len(c.Waves) > c.MaxExperiments {
		report("waves", fmt.Sprintf("has %d waves, and a solve has at most %d experiments (solver.max_experiments)",
			len(c.Waves), c.MaxExperiments))
	}
}

// checkNames looks at the strategies; the other names of the matrix are checked
// where all of them are known.
func (c Config) checkNames(report func(key, problem string)) {
	for _, name := range slices.Sorted(maps.Keys(c.Strategies)) {
		if bad := solve.BadName(name); bad != "" {
			report("strategies", fmt.Sprintf("the name %q %s", name, bad))
		}
	}
	for i, name := range c.Defaults.Strategies {
		if _, ok := c.Strategies[name]; ok {
			continue
		}
		text := fmt.Sprintf("%q is not one of solver.strategies", name)
		if near := spelling.Nearest(name, slices.Sorted(maps.Keys(c.Strategies))); near != "" {
			text += "; did you mean " + near + "?"
		}
		report(fmt.Sprintf("defaults.strategies.%d", i), text)
	}
}

func (t Tests) check(report func(key, problem string)) {
	repoconfig.CheckTest(solve.TestCommand{Format: t.Format, Report: t.Report}, func(key, problem string) { report("tests."+key, problem) })
	for _, name := range slices.Sorted(maps.Keys(t.InstallEnv)) {
		if !isVariable(name) || strings.Contains(t.InstallEnv[name], "\x00") {
			report("tests.install_env", fmt.Sprintf("%q cannot be a variable: letters, digits and _, and a value without a zero byte", name))
		}
	}
	checkHosts("tests.hosts", t.Hosts, report)
}

func checkHosts(key string, hosts []string, report func(key, problem string)) {
	for i, host := range hosts {
		if !solve.HostName(host) {
			report(fmt.Sprintf("%s.%d", key, i), fmt.Sprintf(
				"%q is not a host name like proxy.golang.org or *.example.org, without scheme, port and path", host))
		}
	}
}

// isVariable says whether a name can be that of a variable of the environment.
func isVariable(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && (s[0] < '0' || s[0] > '9')
}
