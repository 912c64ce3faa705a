package solve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// TemperatureRule says what a model does with a sampling temperature.
type TemperatureRule string

// The rules, as the configuration writes them. An unknown model gets TemperatureAccepted.
const (
	TemperatureAccepted TemperatureRule = "accepted"
	TemperatureIgnored  TemperatureRule = "ignored" // without effect
	TemperatureRefused  TemperatureRule = "refused" // the call fails with HTTP 400
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
		notes = append(notes, fmt.Sprintf("parallel=%d exceeds the limit, so %d is used", req.Parallel, limits.Parallel))
	}
	if limits.SolveMoney, kept = lower(limits.SolveMoney, req.Budget); kept {
		notes = append(notes, fmt.Sprintf("budget=%s exceeds the limit, so %s is used", req.Budget, limits.SolveMoney))
	}
	if limits.SolveTime, kept = lower(limits.SolveTime, req.TimeBudget); kept {
		notes = append(notes, fmt.Sprintf("a time budget of %s exceeds the limit, so %s is used",
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

func countText(n int) string {
	if n > 1_000_000 {
		return "over a million"
	}
	return strconv.Itoa(n)
}
