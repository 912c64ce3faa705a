package web

import (
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// axisWidth is the width of a lane's picture, in units of its own.
	axisWidth = 1000
	// maxNotched is up to how many runs the lanes of ended ones show their steps: each takes reading a transcript.
	maxNotched = 32
	// maxRaced is up to how much output of a run a lane shows steps: all lanes together fit into what is kept at hand.
	maxRaced = maxCached / maxNotched
)

// race has one lane for each run, all on one axis of time.
type race struct {
	Ticks []string
	Lanes []lane
}

// lane is a run: its stages as bars, its steps as notches.
type lane struct {
	N                       int
	Path, Name, Steps, Cost string
	Champion                bool
	Mark                    mark
	Bars                    []bar
	Notches                 []int
	Now                     int // where the present is; 0 where the run ended
	Last                    string
	Spoken                  string // the lane in words
}

type bar struct {
	Class    string
	X, Width int
}

// axis places times on the lanes.
type axis struct{ from, to time.Time }

func (a axis) at(t time.Time) int {
	whole := max(a.to.Sub(a.from), time.Millisecond)
	return int(min(max(t.Sub(a.from)*axisWidth/whole, 0), axisWidth))
}

// axisOf begins with the start of a solve and ends with its end or now.
func axisOf(s solve.Solve, now time.Time) axis {
	a := axis{s.Started, s.Ended}
	if a.from.IsZero() {
		a.from = s.Created
	}
	if a.to.IsZero() {
		a.to = now
	}
	return a
}

func (a axis) ticks() (out []string) {
	out = append(out, "0")
	for i := 1; i <= 4; i++ {
		out = append(out, solve.FormatDuration(a.to.Sub(a.from)*time.Duration(i)/4))
	}
	return out
}

// stages are the bars of a run, or of the solve itself for 0: each state from the event that brought it to the next.
func (a axis) stages(events []solve.Entry, run int) (out []bar) {
	state, since := "", time.Time{}
	add := func(until time.Time) {
		if class := stageClass(state); class != "" {
			x := a.at(since)
			out = append(out, bar{class, x, max(a.at(until)-x, 2)})
		}
	}
	for _, e := range events {
		if e.Run != run || e.To == state {
			continue
		}
		add(e.At)
		state, since = e.To, e.At
	}
	add(a.to)
	return out
}

// stageClass is the colour of a state of a run or a solve, "" where nobody is at work.
func stageClass(state string) string {
	switch state {
	case string(solve.StatePreparing), string(solve.RunDispatched):
		return "prepare"
	case string(solve.RunWorking):
		return "work"
	case string(solve.RunHarvesting), string(solve.RunJudging):
		return "judge"
	}
	return ""
}

// raceOf makes the lanes, the best first where that is decided. trajectoryOf gives what a run did, nil where that is not known.
func raceOf(v report.View, events []solve.Entry, now time.Time, trajectoryOf func(solve.Run) *trajectory) race {
	a := axisOf(v.Solve, now)
	out := race{Ticks: a.ticks()}
	prepared := a.stages(events, 0)
	for _, r := range ordered(v) {
		out.Lanes = append(out.Lanes, laneOf(v, r, a, append(prepared[:len(prepared):len(prepared)], a.stages(events, r.N)...), trajectoryOf(r)))
	}
	return out
}

func laneOf(v report.View, r solve.Run, a axis, bars []bar, s *trajectory) lane {
	texts := report.RunPageOf(v, r.N)
	l := lane{
		N: r.N, Path: runPath(v.Solve.ID, r.N), Name: texts.Name, Steps: report.Steps(v.Solve, r), Cost: texts.Cost,
		Champion: v.Solve.Decision != nil && v.Solve.Decision.Champion == r.N, Mark: runMark(v, r), Bars: bars,
	}
	if s != nil {
		for _, one := range s.steps {
			l.Notches = append(l.Notches, a.at(one.At))
		}
	}
	if r.State.Active() {
		l.Now, l.Last = axisWidth, report.Doing(r)
	}
	if r.State.Final() && r.State != solve.RunPassed { // of those that passed, the chain says it
		l.Last = solve.OneLine(texts.Why)
	}
	l.Spoken = solve.Count(r.Progress.Steps, "step") + ", worked " + solve.FormatDuration(r.AgentTime)
	return l
}

// ordered are the runs in the order of the ranking, those that it does not name behind them.
func ordered(v report.View) (out []solve.Run) {
	placed := map[int]bool{}
	if d := v.Solve.Decision; d != nil {
		for _, n := range d.Ranking {
			for _, r := range v.Runs {
				if r.N == n {
					out, placed[n] = append(out, r), true
				}
			}
		}
	}
	for _, r := range v.Runs {
		if !placed[r.N] {
			out = append(out, r)
		}
	}
	return out
}
