package handlers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/spelling"
	"github.com/yudai-dev/yudai/solve"
)

// Vocabulary holds the configured names that a request may use. An empty list allows no name.
type Vocabulary struct {
	Models, Strategies, Agents, Profiles []string
	// Sandboxes are the drivers that may be chosen.
	Sandboxes []string
	// Name is the App's own, by which a mention calls it; "" if it is not known.
	Name string
	// Open: repositories may add strategies and profiles, so the plan checks the names.
	Open bool
}

// Problem is one value of a request that cannot be accepted.
type Problem struct {
	// Key is the argument: "models", "temps", ..., "budget" for money and "time" for the
	// time budget, "profile", "sandbox", "stop", "reproduce".
	Key   string
	Index int    // of the value in its list
	Word  string // the offending value, as it was given
	Text  string // what is wrong with it, to stand after the value: "is not a configured model"
	// Nearest is the valid word that was most likely meant, "" if none is near.
	Nearest string
}

// Markdown is the problem as a sentence for a comment.
func (p Problem) Markdown() string {
	return code(p.Word) + " " + p.Text + "." + didYouMean(p.Nearest)
}

// Check reports every value of a request that is out of range, unknown or repeated, key by
// key. Empty fields are allowed. Commands and the API have the same rules.
func (v Vocabulary) Check(r solve.Request, report func(Problem)) {
	if !slices.Equal(r.Models, []string{solve.ModelsAuto}) {
		checkNames("models", "model", r.Models, v.Models, report)
	}
	checkList("temps", r.Temps, report, func(t float64) string {
		if t >= 0 && t <= solve.MaxTemp { // false for NaN
			return ""
		}
		return fmt.Sprintf("is not a temperature: they go from 0 to %g", solve.MaxTemp)
	})
	checkList("edits", r.Edits, report, func(n int) string { return outside(n, 0, solve.MaxEdits) })
	v.checkAdded("strategies", "strategy", r.Strategies, v.Strategies, report)
	checkNames("agents", "agent", r.Agents, v.Agents, report)
	one := func(key string, set bool, value any, text string) {
		if set && text != "" {
			report(Problem{Key: key, Word: fmt.Sprint(value), Text: text})
		}
	}
	one("repeat", r.Repeat != 0, r.Repeat, outside(r.Repeat, 1, solve.MaxRepeat))
	one("parallel", r.Parallel != 0, r.Parallel, outside(r.Parallel, 1, solve.MaxParallel))
	if r.Budget < 0 || r.Budget > solve.MaxBudget {
		one("budget", true, fmt.Sprintf("$%.2f", float64(r.Budget)/1e6), fmt.Sprintf("is too much: a budget goes up to $%d", solve.MaxBudget/1e6))
	}
	if r.TimeBudget != 0 && (r.TimeBudget < solve.MinTimeBudget || r.TimeBudget > solve.MaxTimeBudget) {
		one("time", true, r.TimeBudget, "is out of range: the time goes from 1m to 24h")
	}
	one("sandbox", r.Sandbox != "", r.Sandbox, v.badSandbox(r.Sandbox))
	if bad, near := solve.BadStopRule(r.Stop); bad != "" {
		report(Problem{Key: "stop", Word: string(r.Stop), Text: bad, Nearest: near})
	}
	if solve.BadReproduceRule(r.Reproduce) != nil && r.Reproduce != "" {
		report(Problem{Key: "reproduce", Word: string(r.Reproduce), Text: "is not known: it takes off, auto or always"})
	}
	if solve.BadBranch(r.Base) != "" {
		one("base", r.Base != "", r.Base, "is not a branch name")
	}
	if r.Profile != "" {
		v.checkAdded("profiles", "profile", []string{r.Profile}, v.Profiles, func(p Problem) {
			p.Key = "profile"
			report(p)
		})
	}
}

// badSandbox says why a driver cannot be chosen, and which can.
func (v Vocabulary) badSandbox(name string) string {
	if slices.Contains(v.Sandboxes, name) {
		return ""
	}
	if len(v.Sandboxes) == 0 {
		return "cannot be used: no sandbox can be chosen here"
	}
	return "is not a sandbox that is offered here (" + strings.Join(v.Sandboxes, ", ") + ")"
}

// checkAdded checks names of which repositories may have more.
func (v Vocabulary) checkAdded(key, noun string, list, valid []string, report func(Problem)) {
	if v.Open {
		checkList(key, list, report, solve.BadName)
		return
	}
	checkNames(key, noun, list, valid, report)
}

func checkNames(key, noun string, list, valid []string, report func(Problem)) {
	unknown := "is not one of the configured " + key
	if len(valid) == 0 {
		unknown = "cannot be used: no " + noun + " is configured"
	}
	withNearest := func(p Problem) {
		if p.Text == unknown {
			if p.Nearest = spelling.Nearest(p.Word, valid); p.Nearest == "" && len(valid) > 0 {
				p.Text += " (" + strings.Join(valid[:min(len(valid), 12)], ", ") + ")"
			}
		}
		report(p)
	}
	checkList(key, list, withNearest, func(name string) string {
		if slices.Contains(valid, name) {
			return ""
		}
		return unknown
	})
}

// checkList reports wrong values, repeated ones, and a list that is too long.
func checkList[T comparable](key string, list []T, report func(Problem), wrong func(T) string) {
	seen := map[T]bool{}
	for i, value := range list {
		text := wrong(value)
		switch {
		case i >= solve.MaxValues:
			report(Problem{Key: key, Index: i, Word: fmt.Sprint(value),
				Text: fmt.Sprintf("is one value too many: `%s` takes %d", key, solve.MaxValues)})
			return
		case text == "" && seen[value]:
			text = fmt.Sprintf("is in `%s` twice; use `repeat` to run every experiment again", key)
		}
		if text != "" {
			report(Problem{Key: key, Index: i, Word: fmt.Sprint(value), Text: text})
		}
		seen[value] = true
	}
}

func outside(n, least, most int) string {
	if n >= least && n <= most {
		return ""
	}
	return fmt.Sprintf("is out of range: it goes from %d to %d", least, most)
}
