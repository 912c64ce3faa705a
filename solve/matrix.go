package solve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TemperatureRule says what a model does with a sampling temperature.
type TemperatureRule string

// The rules. An unknown model gets TemperatureTakes: refusing is the provider's right.
const (
	TemperatureTakes   TemperatureRule = "takes"
	TemperatureIgnores TemperatureRule = "ignores" // accepted without effect
	TemperatureRefuses TemperatureRule = "refuses" // the call fails
)

// Defaults are the operator's matrix and bounds, from the section "solver" of config.yml.
type Defaults struct {
	Models     []string
	Temps      []float64 // empty: no temperature is sent
	Edits      []int     // empty: no limit
	Strategies []string  // empty: no text is added to the prompt
	Agents     []string
	Repeat     int // 0 is 1
	// MaxExperiments bounds the matrix; 0 is [DefaultMaxExperiments].
	MaxExperiments int
	Limits         Limits
	// StrategyText holds every known strategy; a text may be empty.
	StrategyText map[string]string
	// KnownModels and KnownAgents are what may be asked for; nil allows any name.
	KnownModels []string
	KnownAgents []string
	// Stop is the stop rule of a request that names none; "" is StopAll.
	Stop StopRule
	// Waves are those of StopWaves; an axis that a wave leaves empty has the values above.
	Waves []Wave
}

// DefaultMaxExperiments bounds a matrix where the operator sets nothing.
const DefaultMaxExperiments = 24

// Expand makes the plan of a request: the product of its axes, with the
// operator's values for axes it does not name. The order is fixed: models
// outermost as requested, then temperature, max edits, strategy, agent, repeat.
// Repeated values count once. A model that takes no temperature gets one cell
// where others get one for each temperature, and a note says so. Under StopWaves
// there is a product for each wave, in the order of the waves.
//
// Limits of the request narrow the operator's and never widen them. The error
// holds every problem of the request at once, in sentences for people.
func Expand(req Request, def Defaults, rule func(model string) TemperatureRule) (Plan, error) {
	stop := cmp.Or(req.Stop, def.Stop, StopAll)
	parts, problems := split(stop, req, def)
	limits, notes, limitProblems := narrow(def.Limits, req)
	var all []axes
	count := 0
	for _, part := range parts {
		a := axesOf(part, def)
		problems = append(problems, a.check(part, def)...)
		if _, _, n := a.count(rule); n > math.MaxInt-count {
			count = math.MaxInt
		} else {
			count += n
		}
		all = append(all, a)
	}
	problems = append(distinctErrors(problems), limitProblems...)
	if most := cmp.Or(def.MaxExperiments, DefaultMaxExperiments); count > most {
		problems = append(problems, tooMany(len(parts), count, most))
	}
	if len(problems) > 0 {
		return Plan{}, errors.Join(problems...)
	}

	plan := Plan{Limits: limits, Order: def.Models, StrategyText: map[string]string{}, Stop: stop}
	for i, a := range all {
		more := a.experiments(&plan, rule)
		if stop == StopWaves {
			more = plan.nextWave(i+1, more)
		}
		plan.Experiments = append(plan.Experiments, more...)
		plan.Order = order(plan.Order, a.models)
		for _, name := range a.strategies {
			if text := def.StrategyText[name]; text != "" {
				plan.StrategyText[name] = text
			}
		}
	}
	plan.Notes = append(distinct(plan.Notes), plan.stopNotes()...)
	plan.Notes = append(plan.Notes, notes...)
	return plan, nil
}

func tooMany(parts, count, most int) error {
	what := "the matrix has"
	if parts > 1 {
		what = fmt.Sprintf("the %d waves together have", parts)
	}
	return fmt.Errorf(
		"%s %s experiments, more than the limit of %d (solver.max_experiments): name fewer models, temperatures, edits, strategies or repeats",
		what, countText(count), most)
}

// distinctErrors leaves out what is said twice: the same default in two waves.
func distinctErrors(list []error) (out []error) {
	seen := map[string]bool{}
	for _, err := range list {
		if !seen[err.Error()] {
			out = append(out, err)
		}
		seen[err.Error()] = true
	}
	return out
}

// experiments are the cells of one product; what people should know of them goes
// to the plan's notes.
func (a axes) experiments(plan *Plan, rule func(string) TemperatureRule) (out []Experiment) {
	collapsed, rest, _ := a.count(rule)
	for _, model := range a.models {
		if !collapsed[model] {
			out = append(out, a.cells(model, a.temps)...)
			continue
		}
		out = append(out, a.cells(model, []*float64{nil})...)
		if len(a.temps) > 1 {
			plan.Notes = append(plan.Notes, fmt.Sprintf("model %s takes no temperature: its %d cells became %d",
				model, len(a.temps)*rest, rest))
		}
	}
	return out
}

// axes are the values of each axis, without repeats.
type axes struct {
	models, strategies, agents []string
	temps                      []*float64 // one nil where none is sent
	edits                      []int
	repeat                     int
}

func axesOf(req Request, def Defaults) axes {
	a := axes{
		models:     distinct(either(req.Models, def.Models)),
		strategies: distinct(either(req.Strategies, def.Strategies)),
		agents:     distinct(either(req.Agents, def.Agents)),
		edits:      distinct(either(req.Edits, def.Edits)),
		repeat:     cmp.Or(req.Repeat, def.Repeat, 1),
	}
	for _, t := range distinct(either(req.Temps, def.Temps)) {
		a.temps = append(a.temps, &t)
	}
	if len(a.temps) == 0 {
		a.temps = []*float64{nil}
	}
	if len(a.edits) == 0 {
		a.edits = []int{0}
	}
	if len(a.strategies) == 0 {
		a.strategies = []string{""}
	}
	return a
}

// check reports the values that cannot be run.
func (a axes) check(req Request, def Defaults) []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(a.models) == 0 {
		add("the matrix is empty: name a model (models=...), or set solver.defaults.models")
	}
	if len(a.agents) == 0 {
		add("the matrix is empty: name an agent (agents=...), or set solver.defaults.agents")
	}
	for _, t := range a.temps {
		if t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2) {
			add("temperature %s is outside 0 to 2", formatTemp(*t))
		}
	}
	for _, e := range a.edits {
		if e < 0 {
			add("max edits %d is negative; 0 is no limit", e)
		}
	}
	if a.repeat < 1 {
		add("repeat %d must be at least 1", a.repeat)
	}
	strategies := slices.Sorted(maps.Keys(def.StrategyText))
	problems = append(problems, unknown("model", a.models, def.KnownModels)...)
	if len(either(req.Strategies, def.Strategies)) > 0 {
		problems = append(problems, unknown("strategy", a.strategies, append([]string{}, strategies...))...)
	}
	return append(problems, unknown("agent", a.agents, def.KnownAgents)...)
}

// unknown reports the words that are not valid, with the nearest one. A nil list allows every word.
func unknown(kind string, words, valid []string) []error {
	if valid == nil {
		return nil
	}
	var problems []error
	for _, w := range words {
		if slices.Contains(valid, w) {
			continue
		}
		hint := "valid are " + strings.Join(valid, ", ")
		switch near := Nearest(w, valid); {
		case near != "":
			hint = fmt.Sprintf("did you mean %q?", near)
		case len(valid) == 0:
			hint = "none is configured"
		}
		problems = append(problems, fmt.Errorf("unknown %s %q: %s", kind, clip(w, 60), hint))
	}
	return problems
}

// count returns which models take no temperature, how many cells one
// temperature of one model has, and how many cells there are in all (saturating).
func (a axes) count(rule func(string) TemperatureRule) (collapsed map[string]bool, rest, total int) {
	rest = times(times(len(a.edits), len(a.strategies)), times(len(a.agents), max(a.repeat, 0)))
	collapsed = map[string]bool{}
	rows := 0
	for _, m := range a.models {
		if r := rule(m); r == TemperatureIgnores || r == TemperatureRefuses {
			collapsed[m] = true
			rows++
			continue
		}
		rows += len(a.temps)
	}
	return collapsed, rest, times(rows, rest)
}

func (a axes) cells(model string, temps []*float64) []Experiment {
	var out []Experiment
	for _, t := range temps {
		for _, e := range a.edits {
			for _, s := range a.strategies {
				for _, g := range a.agents {
					for r := 1; r <= a.repeat; r++ {
						out = append(out, Experiment{Agent: g, Model: model, Temperature: t, MaxEdits: e, Strategy: s, Repeat: r})
					}
				}
			}
		}
	}
	return out
}

// narrow applies the limits of a request to the operator's.
func narrow(limits Limits, req Request) (Limits, []string, []error) {
	var notes []string
	var problems []error
	if req.Parallel < 0 {
		problems = append(problems, fmt.Errorf("parallel %d must be at least 1", req.Parallel))
	}
	if req.Budget < 0 {
		problems = append(problems, fmt.Errorf("budget %s is negative", req.Budget))
	}
	if req.TimeBudget < 0 {
		problems = append(problems, fmt.Errorf("time budget %s is negative", req.TimeBudget))
	}
	var kept bool
	if limits.Parallel, kept = lower(limits.Parallel, req.Parallel); kept {
		notes = append(notes, fmt.Sprintf("parallel=%d is more than allowed here: it stays %d", req.Parallel, limits.Parallel))
	}
	if limits.SolveMoney, kept = lower(limits.SolveMoney, req.Budget); kept {
		notes = append(notes, fmt.Sprintf("budget=%s is more than allowed here: it stays %s", req.Budget, limits.SolveMoney))
	}
	if limits.SolveTime, kept = lower(limits.SolveTime, req.TimeBudget); kept {
		notes = append(notes, fmt.Sprintf("a time budget of %s is more than allowed here: it stays %s",
			FormatDuration(req.TimeBudget), FormatDuration(limits.SolveTime)))
	}
	return limits, notes, problems
}

// lower returns the lower of two limits of which 0 is none, and whether the wish was above the limit.
func lower[T int | Money | time.Duration](limit, wish T) (T, bool) {
	switch {
	case wish <= 0:
		return limit, false
	case limit > 0 && wish > limit:
		return limit, true
	default:
		return wish, false
	}
}

// order is the configured order of models with those that only the request names behind.
func order(configured, requested []string) []string {
	return distinct(append(slices.Clone(configured), requested...))
}

func either[T any](wish, fallback []T) []T {
	if len(wish) > 0 {
		return wish
	}
	return fallback
}

// distinct keeps the first of equal values, in order.
func distinct[T comparable](values []T) []T {
	var out []T
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// times multiplies two counts and stops at the highest number.
func times(a, b int) int {
	if a != 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

func countText(n int) string {
	if n > 1_000_000 {
		return "over a million"
	}
	return strconv.Itoa(n)
}

func formatTemp(t float64) string { return strconv.FormatFloat(t, 'f', -1, 64) }
