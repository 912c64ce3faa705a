package solve

import (
	"errors"
	"fmt"
	"time"
)

// Simulated is what a plan would have brought on published results.
type Simulated struct {
	Instances int
	Solved    int // instances of which a run passed
	Cost      Money
	Runs      int // that ran to their end
	Stopped   int // that were stopped while they worked
	Unneeded  int // that were never started
	// Time is how long all instances took, one after the other; 0 where the results do
	// not tell.
	Time time.Duration
}

// Share is the part of the instances that was solved, 0 to 1.
func (s Simulated) Share() float64 { return float64(s.Solved) / float64(max(s.Instances, 1)) }

// Simulate replays published results as if each of their runs were judged rightly: a run
// passes if its instance was resolved. What starts, and when there is enough, is decided
// by the same rule as in a solve ([Solve.CurrentWave]); as many runs are at work at a time as
// the plan allows. Where the results do not tell how long runs took, all take as long.
//
// A run that is stopped while it works has cost what its time would have cost. Strategy,
// max edits and agent make no difference.
func Simulate(plan Plan, results Results) (Simulated, error) {
	var sum Simulated
	if len(plan.Experiments) == 0 {
		return sum, errors.New("simulate: the plan has no experiments")
	}
	for _, instance := range results.Instances {
		one := replay{solve: Solve{Plan: plan}, at: make([]time.Duration, len(plan.Experiments))}
		for i, x := range plan.Experiments {
			x.Repeat = max(x.Repeat, 1)
			res, err := results.of(instance, x)
			if err != nil {
				return sum, fmt.Errorf("simulate: %w", err)
			}
			if !results.Durations {
				res.Duration = time.Second
			}
			one.results = append(one.results, res)
			one.runs = append(one.runs, Run{N: i + 1, Experiment: x, State: RunQueued})
		}
		one.solve.Wave = plan.Experiments[0].Wave
		one.play(&sum)
		if results.Durations {
			sum.Time += one.now
		}
	}
	return sum, nil
}

// replay is one instance being solved again.
type replay struct {
	solve   Solve
	runs    []Run
	results []Result
	at      []time.Duration // when each run that works began
	now     time.Duration
}

// play goes from one run's end to the next.
func (p *replay) play(sum *Simulated) {
	sum.Instances++
	for {
		p.start()
		i := p.nextEnd()
		if i < 0 {
			break
		}
		p.now = p.at[i] + p.results[i].Duration
		p.runs[i].State = RunFailed
		if p.results[i].Solved {
			p.runs[i].State, p.runs[i].Candidate, p.runs[i].Verdict = RunPassed, &Candidate{}, &Verdict{Outcome: Passed, Fixed: 1}
		}
		sum.Runs++
		sum.Cost += p.results[i].Cost
		var enough string
		if p.solve.Wave, enough = p.solve.CurrentWave(p.runs); enough != "" {
			p.stop(sum)
		}
	}
	if n, _ := enoughShown(p.runs); n != 0 {
		sum.Solved++
	}
}

// start begins as many runs as the plan has places for.
func (p *replay) start() {
	places := p.solve.Plan.Limits.Parallel
	if places == 0 {
		places = len(p.runs)
	}
	for _, r := range p.runs {
		if r.State == RunWorking {
			places--
		}
	}
	for i := range p.runs {
		if r := &p.runs[i]; places > 0 && r.State == RunQueued && !p.solve.WaitsForWave(*r) {
			r.State, p.at[i] = RunWorking, p.now
			places--
		}
	}
}

// nextEnd is the run that ends first, -1 if none works.
func (p *replay) nextEnd() int {
	first := -1
	for i, r := range p.runs {
		if r.State == RunWorking && (first < 0 || p.at[i]+p.results[i].Duration < p.at[first]+p.results[first].Duration) {
			first = i
		}
	}
	return first
}

// stop ends what is not needed any more: what waits, and under StopFirstGreen what works.
func (p *replay) stop(sum *Simulated) {
	for i := range p.runs {
		r := &p.runs[i]
		switch {
		case r.State == RunQueued:
			sum.Unneeded++
		case r.State == RunWorking && p.solve.Plan.Stop == StopFirstGreen:
			part := float64(p.now-p.at[i]) / float64(p.results[i].Duration)
			sum.Cost += Money(part * float64(p.results[i].Cost))
			sum.Stopped++
		default:
			continue
		}
		r.State = RunCancelled
	}
}
