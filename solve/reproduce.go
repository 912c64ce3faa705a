package solve

import (
	"cmp"
	"errors"
	"slices"
)

// Purpose says what an experiment is for; "" is to solve the issue.
type Purpose string

// PurposeReproduce is the reproducer's: it writes tests from the issue alone that fail on the
// base. docs/decisions/0040-a-reproducer.md has the reasons.
const PurposeReproduce Purpose = "reproduce"

// ReproduceRule says when a solve has a reproducer.
type ReproduceRule string

// The rules, from the least to the most runs.
const (
	ReproduceOff ReproduceRule = "off"
	// ReproduceAuto has one where the base has no failing test, and there are candidates to choose from.
	ReproduceAuto   ReproduceRule = "auto"
	ReproduceAlways ReproduceRule = "always"
)

// ReproduceRules are all of them, in that order.
func ReproduceRules() []ReproduceRule {
	return []ReproduceRule{ReproduceOff, ReproduceAuto, ReproduceAlways}
}

// BadReproduceRule tells what is wrong with a rule, nil if nothing is, and which valid one is near.
func BadReproduceRule(r ReproduceRule) error {
	var valid []string
	for _, one := range ReproduceRules() {
		valid = append(valid, string(one))
	}
	return errors.Join(unknown("value", []string{string(r)}, valid)...)
}

// Reproduces says whether the run is a reproducer's. It is no candidate: it cannot win.
func (r Run) Reproduces() bool { return r.Experiment.Purpose == PurposeReproduce }

// Candidates are the runs that work on the issue: all but the reproducer's.
func Candidates(runs []Run) []Run {
	return slices.DeleteFunc(slices.Clone(runs), Run.Reproduces)
}

// Reproducer is the run that writes tests from the issue, if there is one.
func Reproducer(runs []Run) (Run, bool) {
	i := slices.IndexFunc(runs, Run.Reproduces)
	if i < 0 {
		return Run{}, false
	}
	return runs[i], true
}

// PlanReproducer is the experiment that writes tests for the candidates of a plan, nil where the
// settings want none, its tests would run on nobody, or there is nothing to choose from. cost is
// what the calls of a model usually cost: it takes the first model that is not the cheapest.
func PlanReproducer(p Plan, settings Settings, cost func(model string) Money) *Experiment {
	rule := settings.Reproduce
	if rule == ReproduceOff || rule == "" || settings.CrossRuns == 0 || len(p.Experiments) == 0 {
		return nil
	}
	if rule == ReproduceAuto && len(p.Experiments) == 1 {
		return nil
	}
	cheapest := slices.MinFunc(p.Experiments, func(a, b Experiment) int { return cmp.Compare(cost(a.Model), cost(b.Model)) }).Model
	i := slices.IndexFunc(p.Experiments, func(x Experiment) bool { return x.Model != cheapest })
	x := p.Experiments[max(i, 0)]
	return &Experiment{
		Agent: x.Agent, Model: x.Model, Temperature: x.Temperature, Repeat: 1, Wave: x.Wave, Purpose: PurposeReproduce,
	}
}

// WantsReproducer says whether the planned reproducer runs, now that the base is known. Tests that
// have no names cannot be told apart, so none runs where the exit code is all that is known.
func (s Solve) WantsReproducer() bool {
	if s.Plan.Reproducer == nil || s.Plan.Settings == nil || s.Base.Test.Format == "exit" {
		return false
	}
	return s.Plan.Settings.Reproduce == ReproduceAlways || s.Base.Report.Failing() == 0
}

// withoutUse says why the reproducer need not go on although it has not ended; "" if it may be of
// use. It is waited for while there is a candidate to test, and one that the stop rule has enough
// with needs no test.
func (s Solve) withoutUse(runs []Run) string {
	able := false
	for _, r := range Candidates(runs) {
		if !r.State.Final() {
			return ""
		}
		able = able || eligible(&r)
	}
	if !able {
		return NotNeededPrefix + "no candidate passed"
	}
	if n, grade := enoughShown(runs); n != 0 && s.stopsEarly() {
		return NotNeededPrefix + enoughWords(n, grade)
	}
	return ""
}

// Offered is the number of the reproducer whose tests are offered with the champion, 0 if there is
// none: all that fail on the base pass with the champion, and with candidates of two models.
func (d Decision) Offered(runs []Run) int {
	if _, models := d.Reproduced(runs); models < 2 || !d.reproduced(runs, d.Champion) {
		return 0
	}
	r, _ := Reproducer(runs)
	return r.N
}

// Reproduced counts the candidates that pass all tests of the reproducer, and their models.
func (d Decision) Reproduced(runs []Run) (candidates, models int) {
	var names []string
	for _, r := range runs {
		if eligible(&r) && d.reproduced(runs, r.N) {
			names = append(names, r.Experiment.Model)
		}
	}
	return len(names), len(distinct(names))
}

// reproduced says whether the candidate of run n passes all tests of the reproducer.
func (d Decision) reproduced(runs []Run, n int) bool {
	author, ok := Reproducer(runs)
	n = firstWith(runs, n)
	return ok && author.Verdict != nil && slices.ContainsFunc(d.Cross, func(c CrossResult) bool {
		return c.Author == author.N && c.Run == n && len(c.Passed) > 0 && len(c.Passed) == len(author.Verdict.ProofTests)
	})
}

// PublishesTests is the number of the reproducer whose tests go into the pull request as a commit
// of their own, 0 if there is none: they are offered, they take no line away from the tests that
// are there, and the champion brings no test itself.
func (s Solve) PublishesTests(runs []Run) int {
	if s.Decision == nil || s.Plan.Settings == nil || !s.Plan.Settings.PublishTests {
		return 0
	}
	offered := s.Decision.Offered(runs)
	bad := slices.ContainsFunc(runs, func(r Run) bool {
		brings := r.N == s.Decision.Champion && r.Candidate != nil &&
			slices.ContainsFunc(r.Candidate.Files, func(f FileChange) bool { return f.Test })
		return brings || r.N == offered && r.Candidate.Deleted > 0
	})
	if bad {
		return 0
	}
	return offered
}
