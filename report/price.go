package report

import (
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// unpriced says whether calls were made for the run that have no price.
func (v View) unpriced(r solve.Run) bool {
	return r.Progress.Usage.Calls > 0 && slices.Contains(v.Solve.Plan.Unpriced, r.Experiment.Model)
}

// price is what runs have cost so far: "unknown" where no model has a price, "$1.20 or more" where some of the calls had one.
func (v View) price(runs ...solve.Run) string {
	var sum solve.Money
	for _, r := range runs {
		sum += r.Progress.Usage.Cost
	}
	return Price(sum, slices.ContainsFunc(runs, v.unpriced))
}

// Price is a sum of which some calls may have no price.
func Price(sum solve.Money, unpriced bool) string {
	switch {
	case !unpriced:
		return sum.String()
	case sum > 0:
		return sum.String() + " or more"
	default:
		return "unknown"
	}
}

// own are the runs that no earlier solve paid for.
func (v View) own() []solve.Run {
	return slices.DeleteFunc(slices.Clone(v.Runs), func(r solve.Run) bool { return r.From != nil })
}

// noLimit says in a sentence for which models no limit of money holds, their names in the form that name gives them; "" if for none.
func (v View) noLimit(name func(string) string) string {
	var names []string
	for _, model := range v.Solve.Plan.Unpriced {
		names = append(names, name(solve.Clip(model, 60)))
	}
	if len(names) == 0 {
		return ""
	}
	return "No limit of money holds for " + strings.Join(names, ", ") + ": no price is in the configuration."
}
