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
	// StopFirstGreen has enough with the first candidate that is proven or supported.
	StopFirstGreen StopRule = "first_green"
	// StopWaves makes the runs wave by wave, and has enough with a wave after which a
	// candidate is proven or supported.
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
	shown, grade := enoughShown(runs)
	switch s.Plan.Stop {
	case StopFirstGreen:
		if shown != 0 {
			return s.Wave, NotNeededPrefix + enoughWords(shown, grade)
		}
	case StopWaves:
		next, reproducer := -1, -1 // no wave waits for a reproducer
		for _, r := range runs {
			switch {
			case r.State.Final():
			case r.Reproduces():
				reproducer = r.Experiment.Wave
			case next < 0 || r.Experiment.Wave < next:
				next = r.Experiment.Wave
			}
		}
		if next < 0 {
			next = reproducer
		}
		switch {
		case next <= s.Wave:
		case shown != 0:
			return s.Wave, fmt.Sprintf("%s%s after wave %d", NotNeededPrefix, enoughWords(shown, grade), s.Wave)
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

func enoughWords(n int, grade Grade) string { return fmt.Sprintf("run %d is %s", n, grade) }

// enoughShown is the first of the solve's own runs that is proven or supported, with its
// grade; 0 if none is. That the tests pass is not enough: where no test shows the bug, they pass without a repair.
func enoughShown(runs []Run) (n int, grade Grade) {
	for i := range runs {
		if r := &runs[i]; r.From == nil && (n == 0 || r.N < n) {
			if g := GradeOf(runs, nil, r.N); g == Proven || g == Supported {
				n, grade = r.N, g
			}
		}
	}
	return n, grade
}
