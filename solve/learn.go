package solve

import (
	"slices"
	"time"
)

// PullOutcome is what became of a champion's pull request.
type PullOutcome string

// The outcomes.
const (
	PullOpen   PullOutcome = ""
	PullMerged PullOutcome = "merged"
	PullClosed PullOutcome = "closed" // and not merged
)

// Fate is what a track record has counted of a solve. It is kept beside the solve, whose own record does not
// change after its end.
type Fate struct {
	V     int `json:"v"`
	Solve ID  `json:"solve"`
	// N is the solve's number among those that its repository's track record counts, from 1.
	N int `json:"n"`
	// Pull is what became of its pull request, as of At.
	Pull PullOutcome `json:"pull,omitempty"`
	// Tests says, by the number of a run, whether its candidate passes the tests of somebody else's change that closed the issue.
	Tests map[int]bool `json:"tests,omitempty"`
	At    time.Time    `json:"at"`
}

// Learned is what follows for a track record: an engine writes both in the transaction that it was read in.
type Learned struct {
	Fate   Fate
	Record TrackRecord
}

// Weights of trials. That the tests pass says little, and a cheat says much.
const (
	greenWeight     = 0.25
	tamperingWeight = 2
)

// Trials are what a solve says of its arms. Of a candidate that passes, only the solve's fate tells whether it
// is right: see Decision.told. Runs that were carried over counted in their own solve, but for
// the champion. Runs that somebody or something else ended tried nothing.
func Trials(s Solve, runs []Run, fate Fate) (out []Trial) {
	var d Decision
	if s.Decision != nil {
		d = *s.Decision
	}
	runs = Candidates(runs) // a reproducer's tests say nothing of its model's solutions
	for i := range runs {
		r := &runs[i]
		t := Trial{Arm: r.Experiment.Arm(), Weight: 1}
		right, told := d.told(runs, *r, fate)
		switch {
		case r.From != nil && (r.N != d.Champion || !told):
			continue
		case told && right:
			t.Right = 1
		case told:
		case eligible(r):
			t.Right, t.Weight = 0.5, greenWeight
		case r.Verdict != nil && r.Verdict.Tampering != "":
			t.Weight = tamperingWeight
		case r.State == RunPassed, r.State == RunFailed, r.State == RunEmpty:
		default:
			continue
		}
		out = append(out, t)
	}
	return out
}

// told says whether a run's candidate is right, as far as the fate tells. Unless the champion was merged, the tests of the change
// that closed the issue tell it first. The fate of the champion's pull request tells that of the champion. If it was merged,
// another candidate is judged by the champion's tests: those that failed on the base, and those that the champion brought.
// Where these say nothing, a candidate that is the same byte for byte, or one of another model that makes much the same
// change, shares the champion's fate.
func (d Decision) told(runs []Run, r Run, fate Fate) (right, told bool) {
	pull := fate.Pull
	if right, told = fate.Tests[r.N]; told && pull != PullMerged {
		return right, true
	}
	at := slices.IndexFunc(runs, func(r Run) bool { return r.N == d.Champion && eligible(&r) })
	if at < 0 || pull == PullOpen || !eligible(&r) {
		return false, false
	}
	champion, merged := runs[at], pull == PullMerged
	passed, failed := champion.Verdict.Fixed, r.Verdict.lacks(*champion.Verdict)
	author, tested := firstWith(runs, champion.N), firstWith(runs, r.N)
	for _, c := range d.Cross {
		if c.Author == author && c.Run == tested {
			passed, failed = passed+len(c.Passed), failed+len(c.Failed)
		}
	}
	switch {
	case author == tested:
		return merged, true
	case merged && passed+failed > 0:
		return failed == 0, true
	default:
		return merged, supports(champion, r)
	}
}

// lacks counts the tests of the base that the other one fixed and this one did not. Verdicts name only the first of many, and those
// of old versions none: what is not named is compared by number.
func (v Verdict) lacks(other Verdict) (n int) {
	for _, name := range other.FixedTests {
		at, fixed := slices.BinarySearch(v.FixedTests, name)
		if !fixed && (len(v.FixedTests) == v.Fixed || at < len(v.FixedTests)) {
			n++
		}
	}
	return max(n, other.Fixed-v.Fixed)
}

// HindsightPairs lists the candidates on which the tests of a change by run 0 run, at most so many, each patch once.
func HindsightPairs(runs []Run, most int) (out []CrossPair) {
	for i := range runs {
		if r := &runs[i]; eligible(r) && firstWith(runs, r.N) == r.N && len(out) < most {
			out = append(out, CrossPair{0, r.N})
		}
	}
	return out
}

// InHindsight says, by the number of a run, whether its candidate passes the tests that the change fixes or brings. A candidate of
// which not all are known stands there only if one fails.
func InHindsight(runs []Run, change Verdict, results []CrossResult) map[int]bool {
	out := map[int]bool{}
	for _, r := range runs {
		if !eligible(&r) || change.Outcome != Passed || change.Fixed+len(change.ProofTests) == 0 {
			continue
		}
		var c CrossResult
		if i := slices.IndexFunc(results, func(c CrossResult) bool { return c.Run == firstWith(runs, r.N) }); i >= 0 {
			c = results[i]
		}
		if wrong := len(c.Failed)+r.Verdict.lacks(change) > 0; wrong || len(c.Passed) == len(change.ProofTests) {
			out[r.N] = !wrong
		}
	}
	return out
}

// learn counts the trials of a solve that ended.
func (t *Transition) learn() error {
	runs, err := t.runs()
	if err != nil {
		return err
	}
	trials := Trials(t.Solve, runs, Fate{})
	if len(trials) == 0 {
		return nil
	}
	t.Learned, err = learn(t.read, t.Solve, Fate{At: t.at}, nil, trials)
	return err
}

// Told counts the trials of a solve anew: after its pull request was merged, closed or opened again, or, if the news have Tests,
// after its candidates ran those; nil if that is known. A solve that ended before track records were kept is counted as the newest.
func Told(read Reader, id ID, news Fate, at time.Time) (*Learned, error) {
	s, err := read.Solve(id)
	if err != nil {
		return nil, err
	}
	was, err := read.Fate(id)
	fate, known := was, was.Pull == news.Pull
	if fate.Pull, fate.At = news.Pull, at; news.Tests != nil {
		known = was.Tests != nil
		fate.Pull, fate.Tests = was.Pull, news.Tests
	}
	if err != nil || known {
		return nil, err
	}
	runs, err := read.Runs(id)
	if err != nil {
		return nil, err
	}
	return learn(read, s, fate, Trials(s, runs, was), Trials(s, runs, fate))
}

// learn puts trials in the place of those that were counted before.
func learn(read Reader, s Solve, fate Fate, before, after []Trial) (*Learned, error) {
	record, err := read.TrackRecord(s.Repo.ID)
	if err != nil {
		return nil, err
	}
	if fate.N == 0 {
		record.V, record.Repo = recordVersion, s.Repo // as the newest solve knows it
		record.Add(after)
		fate.N = record.Solves
	} else {
		record.replace(before, after, fate.N)
	}
	fate.V, fate.Solve = recordVersion, s.ID
	return &Learned{fate, record}, nil
}
