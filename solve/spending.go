package solve

import "time"

// Spending is what one solve that was started has cost.
type Spending struct {
	Solve        ID
	Repo         int64
	Installation int64
	Started      time.Time
	// Live says that the solve is in no final state.
	Live bool
	// Cost is what its own runs have cost so far.
	Cost Money
	// Reserved is that, or what a live solve may still come to if that is more.
	Reserved Money
}

// Cost is what runs have cost, without those that an earlier solve paid for.
func Cost(runs []Run) Money {
	var sum Money
	for _, r := range runs {
		if r.From == nil {
			sum += r.Progress.Usage.Cost
		}
	}
	return sum
}

// Reserve is the money that a live solve may come to; 0 if it has no limit, or
// nothing left to run.
func (s Solve) Reserve() Money {
	if s.Picked() || s.State == StateReducing || s.State == StatePublishing {
		return 0
	}
	return s.Plan.Limits.SolveMoney
}
