package solve

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Redundant says why a run that has not ended is stopped, "" if it goes on; elapsed is how
// long its agent has worked. The rule is that of the solve's reducer.
//
// With the first candidate that is proven or supported, StopFirstGreen stops what is at work. A run
// whose patch is being judged already goes on if it can still win, as every run does
// under StopWaves. StopAll stops nothing but a reproducer that is of no use.
func (s Solve) Redundant(r Run, elapsed time.Duration, runs []Run, rule Rule) string {
	if !s.MayStopRuns() || r.State.Final() {
		return ""
	}
	if why := s.withoutUse(runs); why != "" && r.Reproduces() {
		return why
	}
	if !s.stopsEarly() {
		return ""
	}
	if n, grade := enoughShown(runs); n != 0 && s.Plan.Stop == StopFirstGreen && r.State != RunJudging {
		return NotNeededPrefix + enoughWords(n, grade)
	}
	if n := s.DominatedBy(r, elapsed, runs, rule); n != 0 && !r.Reproduces() {
		return fmt.Sprintf("%srun %d stays better, whatever this run achieves", NotNeededPrefix, n)
	}
	return ""
}

func (s Solve) stopsEarly() bool { return s.Plan.Stop == StopFirstGreen || s.Plan.Stop == StopWaves }

// MayStopRuns says whether [Solve.Redundant] can have a reason for any of its runs.
func (s Solve) MayStopRuns() bool {
	return s.State == StateRunning && s.CancelAt.IsZero() && (s.stopsEarly() || s.Plan.Reproducer != nil)
}

// DominatedBy is a run of the solve's own that stays the better one even if r, which has not ended, comes to
// the best result that it can have; 0 if r can still be the champion.
//
// The best result: the tests pass, all that fail on the base are fixed, no test is
// weakened, its own tests and all others prove it, all its lines are those of other models, its size is the middle one, the patch is
// the one that it has or else a single file without a changed line (a renamed one), and
// the agent ends now. Another attempt is not imagined.
func (s Solve) DominatedBy(r Run, elapsed time.Duration, runs []Run, rule Rule) int {
	most := s.bestCase(r, elapsed)
	early := most
	early.AgentTime -= time.Duration(len(runs)) * sameLatency // the others may stand between the two, each near to the next
	for i := range runs {
		if runs[i].N == r.N || runs[i].From != nil || !eligible(&runs[i]) {
			continue
		}
		ev := evidenceOf([]Run{early, runs[i]}, nil)
		ev.crossed[r.N], ev.agreed[r.N], ev.atypical[r.N] = crossScore{math.MaxInt, 1}, math.MaxInt, -1
		if order, _ := compareRuns(rule.criteria(ev), &most, &runs[i]); order > 0 {
			return runs[i].N
		}
	}
	return 0
}

// bestCase is a run that has not ended as it ends at its best.
func (s Solve) bestCase(r Run, elapsed time.Duration) Run {
	ended := r.State == RunHarvesting || r.State == RunJudging
	if !ended {
		r.AgentTime = max(0, elapsed)
	}
	if r.Candidate == nil || r.State != RunJudging {
		r.Candidate = &Candidate{Files: []FileChange{{Test: true}}}
	}
	r.Verdict = &Verdict{Outcome: Passed, Fixed: s.Base.Report.Failing()}
	if slices.ContainsFunc(r.Candidate.Files, func(f FileChange) bool { return f.Test }) {
		r.Verdict.Proofs = 1
	}
	r.State = RunPassed
	return r
}
