package solve

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/spelling"
)

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
		switch near := spelling.Nearest(w, valid); {
		case near != "":
			hint = fmt.Sprintf("did you mean %q?", near)
		case len(valid) == 0:
			hint = "none is configured"
		}
		problems = append(problems, fmt.Errorf("unknown %s %q: %s", kind, Clip(w, 60), hint))
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
		if r := rule(m); r == TemperatureIgnored || r == TemperatureRefused {
			collapsed[m] = true
			rows++
			continue
		}
		rows += len(a.temps)
	}
	return collapsed, rest, times(rows, rest)
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
			plan.Notes = append(plan.Notes, fmt.Sprintf("model %s takes no temperature, so %d of its experiments became %d",
				model, len(a.temps)*rest, rest))
		}
	}
	return out
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
