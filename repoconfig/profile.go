package repoconfig

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/spelling"
	"github.com/yudai-dev/yudai/solve"
)

// Profile is a request under a name: what it holds stands for what a person leaves out.
type Profile struct {
	// Label asks for a solve with this profile when somebody puts it on an issue.
	Label      string    `yaml:"label"`
	Models     []string  `yaml:"models"`
	Temps      []float64 `yaml:"temps"`
	Edits      []int     `yaml:"edits"`
	Strategies []string  `yaml:"strategies"`
	Agents     []string  `yaml:"agents"`
	Repeat     int       `yaml:"repeat"`
	// SolveUSD, SolveTime and Parallel lower the limits of those names; 0 leaves them.
	SolveUSD  float64       `yaml:"solve_usd"`
	SolveTime time.Duration `yaml:"solve_time"`
	Parallel  int           `yaml:"parallel"`
	// Sandbox is the driver; "" leaves it to the repository's file, or the default.
	Sandbox string `yaml:"sandbox"`
	// Stop is the stop rule; "" leaves it.
	Stop solve.StopRule `yaml:"stop"`
}

// Fill puts the profile's values where the request has none.
func (p Profile) Fill(r solve.Request) solve.Request {
	r.Models, r.Temps, r.Edits = orElse(r.Models, p.Models), orElse(r.Temps, p.Temps), orElse(r.Edits, p.Edits)
	r.Strategies, r.Agents = orElse(r.Strategies, p.Strategies), orElse(r.Agents, p.Agents)
	r.Repeat, r.Parallel = cmp.Or(r.Repeat, p.Repeat), cmp.Or(r.Parallel, p.Parallel)
	r.Budget, r.TimeBudget = cmp.Or(r.Budget, dollars(p.SolveUSD)), cmp.Or(r.TimeBudget, p.SolveTime)
	r.Sandbox, r.Stop = cmp.Or(r.Sandbox, p.Sandbox), cmp.Or(r.Stop, p.Stop)
	return r
}

func orElse[T any](wanted, fallback []T) []T {
	if len(wanted) > 0 {
		return wanted
	}
	return fallback
}

func (p Profile) empty() bool {
	return len(p.Models)+len(p.Temps)+len(p.Edits)+len(p.Strategies)+len(p.Agents) == 0 &&
		p.Repeat == 0 && p.SolveUSD == 0 && p.SolveTime == 0 && p.Parallel == 0 && p.Sandbox == "" && p.Stop == ""
}

// LabelPrefix is what every label that may name a profile begins with, "" if none
// can: the default label up to its colon.
func LabelPrefix(label string) string {
	before, _, ok := strings.Cut(label, ":")
	if !ok || before == "" {
		return ""
	}
	return before + ":"
}

// Profile finds a profile by its name or its label, whatever the label's case.
func (r Rules) Profile(wanted string) (name string, p Profile, ok bool) {
	if p, ok := r.Profiles[wanted]; ok {
		return wanted, p, true
	}
	for _, name := range slices.Sorted(maps.Keys(r.Profiles)) {
		if p := r.Profiles[name]; p.Label != "" && strings.EqualFold(p.Label, wanted) {
			return name, p, true
		}
	}
	return "", Profile{}, false
}

// UnknownProfile says that there is none of that name or label, and which there are.
func (r Rules) UnknownProfile(wanted string) string {
	names := slices.Sorted(maps.Keys(r.Profiles))
	if len(names) == 0 {
		return fmt.Sprintf("There is no profile %q: none is configured.", wanted)
	}
	ask := ""
	_, word, _ := strings.Cut(wanted, ":")
	if near := spelling.Nearest(cmp.Or(word, wanted), names); near != "" {
		ask = fmt.Sprintf(" Did you mean %q?", near)
	}
	return fmt.Sprintf("There is no profile %q.%s The profiles are %s.", wanted, ask, strings.Join(names[:min(len(names), 20)], ", "))
}

func (n *narrowing) profiles() {
	for _, name := range slices.Sorted(maps.Keys(n.file.Profiles)) {
		p := n.file.Profiles[name]
		if p.Label != "" {
			n.label(name, p.Label)
		} else if prefix := LabelPrefix(n.op.Label); prefix != "" {
			p.Label = prefix + name
		}
		n.rules.Profiles[name] = p
	}
	known := n.op
	known.Rules = n.rules
	for _, name := range slices.Sorted(maps.Keys(n.file.Profiles)) {
		p := n.file.Profiles[name]
		if badStop(p.Stop) == "" { // else it is told below
			n.stop("profiles."+name+".stop", p.Stop, n.op.Waves || len(p.Models) > 0)
		}
		known.CheckProfile(name, p, n.report)
	}
}

// label of a profile that only the file knows: it is noticed by its prefix.
func (n *narrowing) label(name, label string) {
	key, prefix := "profiles."+name+".label", LabelPrefix(n.op.Label)
	taken := strings.EqualFold(label, n.op.Label)
	for other, p := range n.op.Profiles {
		taken = taken || other != name && strings.EqualFold(label, p.Label)
	}
	for other, p := range n.file.Profiles {
		taken = taken || other < name && strings.EqualFold(label, p.Label)
	}
	own := strings.EqualFold(label, n.op.Profiles[name].Label)
	switch {
	case taken:
		n.report(key, fmt.Sprintf("%q is taken already: choose another", label))
	case prefix == "" && !own:
		n.report(key, "labels of repositories have no effect here: remove it, and use profile="+name+" in a command")
	case !own && !strings.HasPrefix(strings.ToLower(label), strings.ToLower(prefix)):
		n.report(key, fmt.Sprintf("must begin with %q to have an effect", prefix))
	}
}

// maxLabel is the most bytes of a label's name.
const maxLabel = 50

// CheckProfile reports what is wrong with a profile, at keys below profiles.NAME.
func (o Operator) CheckProfile(name string, p Profile, report func(key, problem string)) {
	at := "profiles." + name
	if p.Label != "" && (len(p.Label) > maxLabel || strings.TrimSpace(p.Label) != p.Label) {
		report(at+".label", "must be a label's name, 1 to 50 bytes")
	}
	names := func(key, noun string, list, valid []string) {
		for i, word := range list {
			if !slices.Contains(valid, word) {
				report(fmt.Sprintf("%s.%s.%d", at, key, i), fmt.Sprintf("%q is not a %s here", word, noun)+meant(word, valid))
			}
		}
	}
	names("models", "configured model", p.Models, o.Models)
	names("strategies", "strategy", p.Strategies, slices.Sorted(maps.Keys(o.Strategies)))
	names("agents", "agent", p.Agents, o.Agents)
	for i, t := range p.Temps {
		if !(t >= 0 && t <= solve.MaxTemp) { // true for NaN
			report(fmt.Sprintf("%s.temps.%d", at, i), fmt.Sprintf("is not a temperature: they go from 0 to %g", solve.MaxTemp))
		}
	}
	for i, e := range p.Edits {
		if e < 0 || e > solve.MaxEdits {
			report(fmt.Sprintf("%s.edits.%d", at, i), fmt.Sprintf("must be 0 to %d; 0 is no limit", solve.MaxEdits))
		}
	}
	o.checkBounds(at, p, report)
	if p.Sandbox != "" {
		if bad := o.badSandbox(p.Sandbox); bad != "" {
			report(at+".sandbox", bad)
		}
	}
	if bad := badStop(p.Stop); bad != "" {
		report(at+".stop", bad)
	}
	// Last: what is reported of the whole hides what comes after it of its parts.
	if bad := solve.BadName(name); bad != "" {
		report(at, fmt.Sprintf("the name %q %s", name, bad))
	}
	if p.empty() {
		report(at, "is empty, so it would change nothing: add models, temps, edits, strategies, agents, repeat, "+
			"solve_usd, solve_time, parallel, sandbox or stop")
	}
}

// checkBounds reports what is out of range, or above the limits that hold anyway.
func (o Operator) checkBounds(at string, p Profile, report func(key, problem string)) {
	for _, b := range []struct {
		key     string
		v, most int
	}{{"repeat", p.Repeat, solve.MaxRepeat}, {"parallel", p.Parallel, solve.MaxParallel}} {
		if b.v < 0 || b.v > b.most {
			report(at+"."+b.key, fmt.Sprintf("must be 1 to %d", b.most))
		}
	}
	limit := o.Limits
	if limit.Parallel > 0 && p.Parallel > limit.Parallel {
		report(at+".parallel", fmt.Sprintf("is %d, but at most %d are allowed", p.Parallel, limit.Parallel))
	}
	const mostUSD = float64(solve.MaxBudget) / 1e6
	switch money := dollars(p.SolveUSD); {
	case !(p.SolveUSD >= 0 && p.SolveUSD <= mostUSD): // true for NaN
		report(at+".solve_usd", fmt.Sprintf("must be 0 to %g US dollars; 0 is the limit of every solve", mostUSD))
	case p.SolveUSD > 0 && money == 0:
		report(at+".solve_usd", "is less than a millionth of a dollar")
	case limit.SolveMoney > 0 && money > limit.SolveMoney:
		report(at+".solve_usd", fmt.Sprintf("is %s, but at most %s is allowed", money, limit.SolveMoney))
	}
	switch {
	case p.SolveTime != 0 && (p.SolveTime < solve.MinTimeBudget || p.SolveTime > solve.MaxTimeBudget):
		report(at+".solve_time", fmt.Sprintf("must be %s to %s", FormatTime(solve.MinTimeBudget), FormatTime(solve.MaxTimeBudget)))
	case limit.SolveTime > 0 && p.SolveTime > limit.SolveTime:
		report(at+".solve_time", fmt.Sprintf("is %s, but at most %s is allowed", FormatTime(p.SolveTime), FormatTime(limit.SolveTime)))
	}
}
