package repoconfig

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/spelling"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

// Rules are what holds for the solves of a repository.
type Rules struct {
	Settings       solve.Settings
	Limits         solve.Limits
	MaxExperiments int
	Strategies     map[string]string // texts by name
	Profiles       map[string]Profile
	// Sandbox is the driver where a request names none; "" is the operator's default.
	Sandbox string
	// Stop is the stop rule where a request names none.
	Stop solve.StopRule
}

// Operator is what the operator's configuration says: the rules of a repository
// without a file, and what a file may change in them.
type Operator struct {
	Rules

	// Commands and Texts say whether a file may name commands, and strategies.
	Commands, Texts bool
	// KeepTest and KeepInstall say that the operator's command stays, whatever the file says.
	KeepTest, KeepInstall bool
	// Hosts are those that a file may name: exact, or "*.example.org".
	Hosts []string
	// Models and Agents are the names that profiles may use, Sandboxes the drivers that are offered.
	Models, Agents, Sandboxes []string
	// Waves says whether waves are configured.
	Waves bool
	// Label asks for a solve without a profile. If it has a colon, every label with
	// the same prefix does, and names a profile.
	Label string
}

func (o Operator) copied() Rules {
	r := o.Rules
	r.Strategies, r.Profiles = maps.Clone(r.Strategies), maps.Clone(r.Profiles)
	if r.Strategies == nil {
		r.Strategies = map[string]string{}
	}
	if r.Profiles == nil {
		r.Profiles = map[string]Profile{}
	}
	return r
}

// narrowing is one file being held against the operator's configuration.
type narrowing struct {
	op     Operator
	file   file
	rules  Rules
	report func(key, problem string)
}

func (n *narrowing) all(name string) {
	n.commands(name)
	n.network()
	n.strategies()
	n.limits()
	n.profiles()
	n.protected()
	n.sandbox()
	n.reproduce()
	n.stop("stop", n.file.Stop, n.op.Waves)
	if n.file.Stop != "" {
		n.rules.Stop = n.file.Stop
	}
}

// reproduce chooses when there is a reproducer, but not more often than the operator does.
func (n *narrowing) reproduce() {
	wanted, allowed := n.file.Reproduce, n.op.Settings.Reproduce
	rules := solve.ReproduceRules()
	switch bad := solve.BadReproduceRule(wanted); {
	case wanted == "":
		return
	case bad != nil:
		n.report("reproduce", bad.Error())
	case slices.Index(rules, wanted) > slices.Index(rules, allowed):
		n.report("reproduce", fmt.Sprintf("is %s, but the operator chose %s, which runs less: leave it out", wanted, allowed))
	}
	n.rules.Settings.Reproduce = wanted
}

// stop chooses a stop rule, but not one that makes more runs than the operator's does.
// waves says whether there are any to choose.
func (n *narrowing) stop(key string, rule solve.StopRule, waves bool) {
	switch bad := badStop(rule); {
	case rule == "":
	case bad != "":
		n.report(key, bad)
	case rule == solve.StopAll && n.op.Stop != solve.StopAll && n.op.Stop != "":
		n.report(key, fmt.Sprintf("is all, but the operator chose %s, which runs less: leave it out, or use first_green or waves", n.op.Stop))
	case rule == solve.StopWaves && !waves:
		n.report(key, "is waves, but none are configured: use first_green, or ask the operator (solver.waves)")
	}
}

// sandbox chooses among the drivers that are offered.
func (n *narrowing) sandbox() {
	if n.file.Sandbox == "" {
		return
	}
	if bad := n.op.badSandbox(n.file.Sandbox); bad != "" {
		n.report("sandbox", bad)
	}
	n.rules.Sandbox = n.file.Sandbox
}

// badSandbox says why a driver cannot be chosen, "" if it can.
func (o Operator) badSandbox(name string) string {
	if slices.Contains(o.Sandboxes, name) {
		return ""
	}
	return fmt.Sprintf("%q is not offered here: choose one of %s, or ask the operator (sandbox.choices)",
		name, strings.Join(o.Sandboxes, ", ")) + meant(name, o.Sandboxes)
}

// badStop says why a stop rule cannot be chosen by anybody, "" if it can.
func badStop(rule solve.StopRule) string {
	bad, near := solve.BadStopRule(rule)
	if bad != "" {
		bad = fmt.Sprintf("%q %s", rule, bad)
	}
	if near != "" {
		bad += "; did you mean " + near + "?"
	}
	return bad
}

func (n *narrowing) commands(source string) {
	test := solve.TestCommand{Command: n.file.Test.Command, Format: n.file.Test.Format, Report: n.file.Test.Report, Source: source}
	const forbidden = "the operator does not let repositories name commands (solver.repository.commands): remove it"
	if !n.op.Commands {
		if test.Command+test.Format+test.Report != "" {
			n.report("test", forbidden)
		}
		if n.file.Install.Command != "" {
			n.report("install", forbidden)
		}
		return
	}
	CheckTest(test, func(key, problem string) { n.report("test."+key, problem) })
	if test.Command == "" && test.Format+test.Report != "" {
		n.report("test", "has format or report but no command: add test.command")
	}
	if test.Command != "" && !n.op.KeepTest {
		n.rules.Settings.Test = test
	}
	if n.file.Install.Command != "" && !n.op.KeepInstall {
		n.rules.Settings.Install = n.file.Install.Command
	}
}

// CheckTest reports what is wrong with how a repository is tested: at "format" or "report".
func CheckTest(t solve.TestCommand, report func(key, problem string)) {
	formats := []string{"go", "junit", "jest", "tap", "cargo", "exit"}
	if t.Format != "" && !slices.Contains(formats, t.Format) {
		report("format", fmt.Sprintf("is %q, must be go, junit, jest, tap, cargo or exit", t.Format)+meant(t.Format, formats))
	}
	if (t.Format == "junit" || t.Format == "jest") && t.Report == "" {
		report("report", fmt.Sprintf("must name the report files (a glob) when the format is %s", t.Format))
	}
	if path.IsAbs(t.Report) || slices.Contains(strings.Split(t.Report, "/"), "..") {
		report("report", "must be a path or glob inside the repository, like build/reports/*.xml")
	}
}

func (n *narrowing) network() {
	if n.file.Network == nil {
		return
	}
	hosts := []string{}
	for i, host := range *n.file.Network {
		key := fmt.Sprintf("network.%d", i)
		host = strings.TrimSuffix(strings.ToLower(host), ".")
		switch {
		case !solve.HostName(host):
			n.report(key, fmt.Sprintf("%q is not a host name like proxy.golang.org or *.example.org, without scheme, port and path", host))
		case !within(host, n.op.Hosts):
			n.report(key, fmt.Sprintf("%q is not allowed for repositories: remove it, or ask the operator (solver.repository.hosts)", host)+
				meant(host, n.op.Hosts))
		}
		hosts = append(hosts, host)
	}
	n.rules.Settings.Hosts, n.rules.Settings.OnlyHosts = hosts, true
}

// within says whether a host, or every host of a pattern, is among those allowed.
func within(host string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		a = strings.TrimSuffix(strings.ToLower(a), ".")
		below, wild := strings.CutPrefix(a, "*")
		return host == a || wild && strings.HasSuffix(strings.TrimPrefix(host, "*."), below)
	})
}

func (n *narrowing) strategies() {
	if len(n.file.Strategies) > 0 && !n.op.Texts {
		n.report("strategies", "the operator does not let repositories name strategies (solver.repository.strategies): remove them")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.file.Strategies)) {
		if bad := solve.BadName(name); bad != "" {
			n.report("strategies."+name, fmt.Sprintf("the name %q %s", name, bad))
		}
		n.rules.Strategies[name] = n.file.Strategies[name]
	}
}

// maxProtected is how many patterns a file may protect.
const maxProtected = 100

func (n *narrowing) protected() {
	if len(n.file.Protected) > maxProtected {
		n.report("protected", fmt.Sprintf("has %d patterns; the limit is %d", len(n.file.Protected), maxProtected))
		return
	}
	for i, p := range n.file.Protected {
		if bad := patch.BadPattern(p); bad != "" {
			n.report(fmt.Sprintf("protected.%d", i), fmt.Sprintf("%q %s", p, bad))
		}
	}
	n.rules.Settings.Patch.Protected = slices.Concat(n.rules.Settings.Patch.Protected, n.file.Protected)
}

// limits that are higher than the operator's are problems, not clamped: who reads the
// file would else believe what it says.
func (n *narrowing) limits() {
	f, r := n.file.Limits, &n.rules
	narrow(n, "run_time", &r.Limits.RunTime, seconds(f.RunTime, n, "run_time"), FormatTime)
	narrow(n, "run_steps", &r.Limits.RunSteps, f.RunSteps, number)
	narrow(n, "run_usd", &r.Limits.RunMoney, money(f.RunUSD, n, "run_usd"), solve.Money.String)
	narrow(n, "solve_time", &r.Limits.SolveTime, seconds(f.SolveTime, n, "solve_time"), FormatTime)
	narrow(n, "solve_usd", &r.Limits.SolveMoney, money(f.SolveUSD, n, "solve_usd"), solve.Money.String)
	narrow(n, "parallel", &r.Limits.Parallel, f.Parallel, number)
	narrow(n, "max_experiments", &r.MaxExperiments, f.MaxExperiments, number)
	day := &r.Settings.Day
	narrow(n, "solves_per_day", &day.Solves, f.SolvesPerDay, number)
	narrow(n, "usd_per_day", &day.Money, money(f.USDPerDay, n, "usd_per_day"), solve.Money.String)
	if f.SolvesPerDay != nil || f.USDPerDay != nil {
		day.From = n.rules.Settings.File
	}
}

// FormatTime writes a time as people write it in the file: 20m, 1h30m.
func FormatTime(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func number(n int) string { return fmt.Sprint(n) }

// narrow lowers a limit of which 0 is none, or reports why it may not be that.
func narrow[T int | solve.Money | time.Duration](n *narrowing, key string, limit, wanted *T, show func(T) string) {
	switch {
	case wanted == nil:
	case *wanted <= 0:
		n.report("limits."+key, "must be more than 0; leave it out for the operator's limit")
	case *limit > 0 && *wanted > *limit:
		n.report("limits."+key, fmt.Sprintf("is %s, but the operator allows at most %s: lower it, or leave it out", show(*wanted), show(*limit)))
	default:
		*limit = *wanted
	}
}

func seconds(d *time.Duration, n *narrowing, key string) *time.Duration {
	if d != nil && *d > 0 && *d < time.Second {
		n.report("limits."+key, "must be at least 1s")
		return nil
	}
	return d
}

// maxUSD is far above what anybody needs, and low enough that no number of millionths overflows.
const maxUSD = 1_000_000

func money(usd *float64, n *narrowing, key string) *solve.Money {
	if usd == nil {
		return nil
	}
	if !(*usd >= 0.000001 && *usd <= maxUSD) { // true for NaN
		n.report("limits."+key, fmt.Sprintf("must be more than 0 and at most %d US dollars", maxUSD))
		return nil
	}
	m := dollars(*usd)
	return &m
}

// dollars turns US dollars into Money.
func dollars(usd float64) solve.Money { return solve.Money(usd*1e6 + 0.5) }

// meant asks whether the nearest valid word was meant, "" if none is near.
func meant(word string, valid []string) string {
	if near := spelling.Nearest(word, valid); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
