package solve

import "time"

// SandboxUse is one sandbox as a solve used it: where, for how long, and at what price.
type SandboxUse struct {
	Phase  string `json:"phase"` // "prepare", "work", "judge"
	Driver string `json:"driver"`
	// ID is the provider's own id of the sandbox, "" where there is none.
	ID string `json:"id,omitempty"`
	// Hourly is its price while it is open, for an hour.
	Hourly Money     `json:"hourly,omitempty"`
	Opened time.Time `json:"opened"`
	// Closed is zero while it is open, and where nobody lived to write it down.
	Closed time.Time `json:"closed,omitzero"`
}

// cost is the price of the time until it was closed, else until then.
func (s SandboxUse) cost(then time.Time) Money {
	if !s.Closed.IsZero() {
		then = s.Closed
	}
	return s.Hourly * Money(max(0, then.Sub(s.Opened).Milliseconds())) / Money(time.Hour.Milliseconds())
}

func sandboxCost(uses []SandboxUse, then time.Time) Money {
	var sum Money
	for _, s := range uses {
		sum += s.cost(then)
	}
	return sum
}

// SandboxCost is what the run's own sandboxes have cost, as far as times are stored:
// those that are open count until the run's last step, or its end.
func (r Run) SandboxCost() Money {
	then := r.Progress.At
	if r.State.Final() {
		then = r.Ended
	}
	return sandboxCost(r.SandboxUses, then)
}

// SandboxCost is what the base's sandboxes have cost.
func (b Base) SandboxCost() Money { return sandboxCost(b.SandboxUses, time.Time{}) }

// SandboxCost is what a solve's sandboxes have cost: those of its base, of its runs and of its
// cross tests, without the runs that an earlier solve paid for. Limits of money do not count it.
func SandboxCost(s Solve, runs []Run) Money {
	sum := s.Base.SandboxCost()
	if s.Decision != nil {
		sum += sandboxCost(s.Decision.SandboxUses, time.Time{})
	}
	for _, r := range runs {
		if r.From == nil {
			sum += r.SandboxCost()
		}
	}
	return sum
}
