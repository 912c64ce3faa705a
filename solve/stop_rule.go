package solve

import (
	"fmt"

	"github.com/yudai-dev/yudai/internal/spelling"
)

// StopRule says when a solve has enough of its experiments.
type StopRule string

// The stop rules. None of them widens a limit: they only leave runs out.
const (
	// StopAll makes every run to its end.
	StopAll StopRule = "all"
	// StopFirstGreen has enough with the first candidate that passes.
	StopFirstGreen StopRule = "first_green"
	// StopWaves makes the runs wave by wave, and has enough with a wave in which a
	// candidate passed.
	StopWaves StopRule = "waves"
)

// StopRules are all of them.
func StopRules() []StopRule { return []StopRule{StopAll, StopFirstGreen, StopWaves} }

// BadStopRule says what is wrong with a stop rule, and which valid one is near; both are
// "" if nothing is. The empty one stands for the default.
func BadStopRule(r StopRule) (text, near string) {
	var valid []string
	for _, one := range StopRules() {
		if r == one || r == "" {
			return "", ""
		}
		valid = append(valid, string(one))
	}
	return "is no stop rule: it takes all, first_green or waves", spelling.Nearest(string(r), valid)
}

// Waves is how many waves a plan has; 1 where it knows none.
func (p Plan) Waves() int {
	n := 1
	for _, x := range p.Experiments {
		n = max(n, x.Wave)
	}
	return n
}

// NotNeededPrefix begins every reason that the stop rule gives.
const NotNeededPrefix = "not needed: "

// CurrentWave says of a running solve which wave's runs may start, and why those that wait
// need not start at all; "" as long as one may. Only what the solve ran itself counts:
// whoever asks for a retry wants the experiments run that did not pass.
func (s Solve) CurrentWave(runs []Run) (wave int, enough string) {
	passed := firstPassed(runs)
	switch s.Plan.Stop {
	case StopFirstGreen:
		if passed != nil {
			return s.Wave, fmt.Sprintf("%srun %d passed", NotNeededPrefix, passed.N)
		}
	case StopWaves:
		next := -1
		for _, r := range runs {
			if r.State.Final() {
				continue
			}
			if next < 0 || r.Experiment.Wave < next {
				next = r.Experiment.Wave
			}
		}
		switch {
		case next <= s.Wave:
		case passed != nil:
			return s.Wave, fmt.Sprintf("%srun %d passed in wave %d", NotNeededPrefix, passed.N, passed.Experiment.Wave)
		default:
			return next, ""
		}
	}
	return s.Wave, ""
}

// WaitsForWave says whether a queued run waits for its wave.
func (s Solve) WaitsForWave(r Run) bool {
	return s.Plan.Stop == StopWaves && r.Experiment.Wave > s.Wave
}

// firstPassed is the first of the solve's own runs that can be its champion, nil if none can.
func firstPassed(runs []Run) *Run {
	var first *Run
	for i := range runs {
		if r := &runs[i]; r.From == nil && eligible(r) && (first == nil || r.N < first.N) {
			first = r
		}
	}
	return first
}
