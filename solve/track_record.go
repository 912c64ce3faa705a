package solve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// What a track record forgets and borrows; docs/decisions/0041-track-records.md has the reasons.
const (
	// forgetting is what a trial weighs after one more solve of its repository: half after 34.
	forgetting = 0.98
	// borrowed is how many trials the other repositories count for.
	borrowed = 8
)

// Arm is what a track record is kept of: model, agent and strategy together.
type Arm struct {
	Model    string `json:"model"`
	Agent    string `json:"agent,omitempty"`
	Strategy string `json:"strategy,omitempty"`
}

// Arm is the experiment's.
func (x Experiment) Arm() Arm { return Arm{Model: x.Model, Agent: x.Agent, Strategy: x.Strategy} }

// Trial is one candidate of an arm: 1 is right, 0 is wrong, one half is that nobody knows.
type Trial struct {
	Arm    Arm
	Right  float64
	Weight float64
}

// known says whether people or tests have said what the trial is.
func (t Trial) known() bool { return t.Right == 0 || t.Right == 1 }

// TrackRecord is how often the candidates of each arm were right in one repository.
type TrackRecord struct {
	V    int  `json:"v"`
	Repo Repo `json:"repo"`
	// Solves is how many solves it counts.
	Solves int          `json:"solves"`
	Arms   []ArmHistory `json:"arms"`
}

// ArmHistory sums up the trials of an arm in one repository.
type ArmHistory struct {
	Arm Arm `json:"arm"`
	// Right and Wrong are sums of weights as they were after solve number At.
	Right float64 `json:"right"`
	Wrong float64 `json:"wrong"`
	At    int     `json:"at"`
	// Won of Known are the trials, without weights, that were right among those that are known.
	Won   int `json:"won"`
	Known int `json:"known"`
}

// Add counts the trials of one more solve.
func (t *TrackRecord) Add(trials []Trial) {
	t.Solves++
	t.replace(nil, trials, t.Solves)
}

// replace counts other trials of solve number n than before.
func (t *TrackRecord) replace(before, after []Trial, n int) {
	t.Arms = slices.Clone(t.Arms)
	weight := faded(t.Solves - n)
	for _, old := range before {
		t.arm(old.Arm).count(old, -weight, -1)
	}
	for _, trial := range after {
		t.arm(trial.Arm).count(trial, weight, 1)
	}
}

// arm is the history of an arm, made if there is none, as of the last solve.
func (t *TrackRecord) arm(of Arm) *ArmHistory {
	i := slices.IndexFunc(t.Arms, func(h ArmHistory) bool { return h.Arm == of })
	if i < 0 {
		i = len(t.Arms)
		t.Arms = append(t.Arms, ArmHistory{Arm: of})
	}
	t.Arms[i] = t.now(t.Arms[i])
	return &t.Arms[i]
}

// now is a history as of the last solve.
func (t *TrackRecord) now(h ArmHistory) ArmHistory {
	weight := faded(t.Solves - h.At)
	h.Right, h.Wrong, h.At = h.Right*weight, h.Wrong*weight, t.Solves
	return h
}

// count adds a trial, or takes one back; what was never counted is not taken back.
func (h *ArmHistory) count(t Trial, weight float64, n int) {
	h.Right = max(0, h.Right+weight*t.Weight*t.Right)
	h.Wrong = max(0, h.Wrong+weight*t.Weight*(1-t.Right))
	if !t.known() {
		return
	}
	h.Known = max(0, h.Known+n)
	if t.Right == 1 {
		h.Won = max(0, h.Won+n)
	}
}

// faded is what a trial weighs that many solves later.
func faded(solves int) float64 { return math.Pow(forgetting, float64(max(0, solves))) }

// Rate is the rate at which an arm is right in a repository, as a Beta distribution: what is known here, and
// as much as [borrowed] trials of what is known of the installation's other repositories.
type Rate struct {
	Arm   Arm     `json:"arm"`
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
	// Won of Known candidates were right in this repository.
	Won   int `json:"won"`
	Known int `json:"known"`
}

// RateOf is the rate of an arm in a repository, after what is known where. A record of another installation counts nothing.
func RateOf(arm Arm, repo Repo, records []TrackRecord) Rate {
	right, wrong := 1.0, 1.0 // where nothing is known, one of two is right
	var here ArmHistory
	for _, t := range records {
		for _, h := range t.Arms {
			switch {
			case h.Arm != arm:
			case t.Repo.ID == repo.ID:
				here = t.now(h)
			case t.Repo.Installation == repo.Installation:
				h = t.now(h)
				right, wrong = right+h.Right, wrong+h.Wrong
			}
		}
	}
	elsewhere := right / (right + wrong)
	return Rate{
		Arm: arm, Alpha: borrowed*elsewhere + here.Right, Beta: borrowed*(1-elsewhere) + here.Wrong,
		Won: here.Won, Known: here.Known,
	}
}

// RatesOf are the rates of all arms that a repository's track record has, the best first. The repository is named as owner/name.
// [ErrNotFound] says that nothing was counted there.
func RatesOf(name string, records []TrackRecord) ([]Rate, error) {
	at := slices.IndexFunc(records, func(t TrackRecord) bool { return strings.EqualFold(t.Repo.String(), name) })
	if at < 0 {
		return nil, fmt.Errorf("track record of %s: %w", Clip(OneLine(name), 140), ErrNotFound)
	}
	var out []Rate
	for _, h := range records[at].Arms {
		out = append(out, RateOf(h.Arm, records[at].Repo, records))
	}
	slices.SortStableFunc(out, func(a, b Rate) int { return cmp.Compare(b.Percent(), a.Percent()) })
	return out, nil
}

// Percent is the expected rate, from 1 to 99.
func (r Rate) Percent() int {
	return min(99, max(1, int(math.Round(100*r.Alpha/(r.Alpha+r.Beta)))))
}

// Interval holds the rate of the repository's own known candidates with a confidence of 95 %, in percent
// (Wilson's score interval); 0 to 100 where none is known.
func (r Rate) Interval() (low, high int) {
	const z2 = 1.96 * 1.96
	if r.Known == 0 {
		return 0, 100
	}
	n, p := float64(r.Known), float64(r.Won)/float64(r.Known)
	middle := (p + z2/(2*n)) / (1 + z2/n)
	half := math.Sqrt(z2*(p*(1-p)/n+z2/(4*n*n))) / (1 + z2/n)
	return int(math.Round(100 * (middle - half))), int(math.Round(100 * (middle + half)))
}

// UseRecords gives the experiments the rates of their arms, as the track records have them now. With waves, the
// experiments of a better arm stand first in their wave.
func (p *Plan) UseRecords(repo Repo, records []TrackRecord) {
	relevant := func(t TrackRecord) bool { return t.Repo.ID == repo.ID || t.Repo.Installation == repo.Installation }
	if !slices.ContainsFunc(records, relevant) {
		return
	}
	p.Experiments = slices.Clone(p.Experiments)
	for i, x := range p.Experiments {
		at := slices.IndexFunc(p.Rates, func(r Rate) bool { return r.Arm == x.Arm() })
		if at < 0 {
			at = len(p.Rates)
			p.Rates = append(p.Rates, RateOf(x.Arm(), repo, records))
		}
		p.Experiments[i].Record = p.Rates[at].Percent()
	}
	if p.Stop == StopWaves {
		slices.SortStableFunc(p.Experiments, func(a, b Experiment) int {
			return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(fifths(b.Record), fifths(a.Record)))
		})
	}
}
