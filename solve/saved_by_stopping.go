package solve

// Saved is what a stop rule left out.
type Saved struct {
	NotRun  int // runs that never started
	Stopped int // runs that were stopped at work
	// Money is about what they would have cost beside what they did; 0 if nobody knows.
	Money Money
}

// SavedBy counts what was left out of runs. A run would have cost what the others of its
// model cost that ran to their end, on average; if there is none, what all of them did.
func SavedBy(runs []Run) Saved {
	var out Saved
	for _, r := range runs {
		if !r.NotNeeded || r.From != nil {
			continue
		}
		if r.Attempt == 0 {
			out.NotRun++
		} else {
			out.Stopped++
		}
		same := func(o Run) bool { return o.Experiment.Model == r.Experiment.Model }
		all := func(Run) bool { return true }
		usual, known := average(runs, same)
		if !known {
			usual, _ = average(runs, all)
		}
		out.Money += max(0, usual-r.Progress.Usage.Cost)
	}
	return out
}

// average is what the runs that fit cost which ran to their end and asked their model.
func average(runs []Run, fits func(Run) bool) (cost Money, known bool) {
	var sum, n Money
	for _, r := range runs {
		if r.State.Final() && r.State != RunCancelled && r.From == nil && r.Progress.Usage.Calls > 0 && fits(r) {
			sum += r.Progress.Usage.Cost
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / n, true
}
