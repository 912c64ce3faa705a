package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// solvePage is the page of a solve: the answer first, then why, the race, the tests, the diff, the events.
type solvePage struct {
	Solve        solve.Solve
	Title        string
	Mark         mark
	Facts        []string
	Texts        report.Page
	Champion     int
	ChampionName string
	Race         race
	Rule         []string
	Grid         *grid
	Groups       []solve.Group
	Picks        []pick
	Shown        int // run whose patch is shown
	Against      int // run whose patch it is compared with, 0 is none
	Diff         *diffView
	Events       []eventRow
	Live         bool
	Logs         []link
	HasBundle    bool
	Buttons      *buttons
}

// pick is a run whose patch can be shown.
type pick struct {
	N    int
	Name string
	Here bool
}

type link struct{ Path, Text string }

type eventRow struct{ At, Who, Event, To, Reason string }

func runPath(id solve.ID, n int) string { return fmt.Sprintf("/solves/%s/runs/%d", id, n) }

func (p *Pages) solve(w http.ResponseWriter, r *http.Request) {
	v, err := p.view(r)
	var events []solve.Entry
	if err == nil {
		events, err = p.Store.Events(r.Context(), v.Solve.ID, 0)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	s := v.Solve
	body := solvePage{
		Solve: s, Title: titleOf(s), Mark: solveMark(v), Texts: report.PageOf(v), Facts: factsOf(v, p.Now()),
		Race:    raceOf(v, events, p.Now(), func(run solve.Run) *trajectory { return p.raceTrajectory(r, v, run) }),
		Buttons: p.buttonsFor(r, v), Grid: gridOf(v),
		Events: eventRows(events, axisOf(s, p.Now())), Live: !s.State.Final(), Logs: solveLogs(s, events),
	}
	if d := s.Decision; d != nil {
		body.Rule, body.Champion, body.HasBundle = d.Rule, d.Champion, true
		body.Groups = solve.GroupsOf(v.Runs, d.Cross)
		body.ChampionName = report.RunPageOf(v, d.Champion).Name
	}
	if err := p.addDiff(r, v, &body); err != nil {
		p.fail(w, r, err)
		return
	}
	frame := page{Title: body.Mark.Text + " · " + body.Title}
	if body.Live {
		frame.Live = "/live?solve=" + string(s.ID)
	}
	p.show(w, r, http.StatusOK, "solve.html", frame, body)
}

// raceTrajectory is what a run did, as far as its lane shows it.
func (p *Pages) raceTrajectory(r *http.Request, v report.View, run solve.Run) *trajectory {
	if run.Attempt == 0 || run.Progress.Output > maxRaced || len(v.Runs) > maxNotched && !run.State.Active() {
		return nil
	}
	s, err := p.trajectory(r.Context(), run)
	if err != nil { // pruned, or not there yet
		return nil
	}
	return s
}

// factsOf are the facts beside the title.
func factsOf(v report.View, now time.Time) []string {
	s := v.Solve
	out := []string{whereOf(s), "asked by " + solve.OneLine(s.Trigger.Actor) + " (" + string(s.Trigger.Kind) + ")"}
	texts := report.PageOf(v)
	cost := texts.Cost
	if most := s.Plan.Limits.SolveMoney; most > 0 {
		cost += " of " + most.String()
	}
	a := axisOf(s, now)
	if n := max(len(solve.Candidates(v.Runs)), len(s.Plan.Experiments)); n > 0 {
		out = append(out, solve.Count(n, "run"))
	}
	out = append(out, solve.FormatDuration(a.to.Sub(a.from)), cost)
	if texts.NoLimit != "" {
		out = append(out, texts.NoLimit)
	}
	if s.Base.SHA != "" {
		out = append(out, "base "+s.Base.Branch+" at "+s.Base.SHA[:min(len(s.Base.SHA), 7)])
	}
	return out
}

// addDiff adds the patch that the request asks for: the champion's, or ?diff=N; with &against=M what it makes of the base
// against what the patch of run M makes of it.
func (p *Pages) addDiff(r *http.Request, v report.View, body *solvePage) (err error) {
	body.Shown = body.Champion
	if n, err := strconv.Atoi(r.URL.Query().Get("diff")); err == nil {
		body.Shown = n
	}
	against, _ := strconv.Atoi(r.URL.Query().Get("against"))
	var shown, other *solve.Run
	for _, run := range ordered(v) {
		if run.Candidate == nil || run.Candidate.Artifact == "" {
			continue
		}
		if body.Shown == 0 && v.Solve.State.Final() {
			body.Shown = run.N
		}
		switch run.N {
		case body.Shown:
			shown = &run
		case against:
			other, body.Against = &run, run.N
		}
		body.Picks = append(body.Picks, pick{run.N, report.RunPageOf(v, run.N).Name, run.N == body.Shown})
	}
	if shown == nil {
		body.Against = 0
		return nil
	}
	body.Diff, err = p.patch(r, *shown, other)
	return err
}

// patch reads the patch of a candidate, against that of another one unless that is nil; nil where one of them is kept no more.
func (p *Pages) patch(r *http.Request, run solve.Run, against *solve.Run) (*diffView, error) {
	data, err := p.Store.Artifact(r.Context(), run.Solve, run.Candidate.Artifact)
	var other []byte
	if err == nil && against != nil {
		other, err = p.Store.Artifact(r.Context(), run.Solve, against.Candidate.Artifact)
	}
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return nil, nil
	case err != nil || against == nil:
		return new(readDiff(data)), err
	}
	v, err := diffBetween(other, data)
	return &v, err
}

// eventRows are the events of a solve, as far from its start as they were.
func eventRows(events []solve.Entry, a axis) (out []eventRow) {
	for _, e := range events {
		row := eventRow{At: fmt.Sprintf("%.1f s", max(e.At.Sub(a.from), 0).Seconds()), Event: string(e.Event)}
		row.Reason = solve.Clip(solve.OneLine(e.Reason), 300)
		if e.Run > 0 {
			row.Who = fmt.Sprint("run ", e.Run)
		}
		if e.To != e.From {
			row.To = e.To
		}
		out = append(out, row)
	}
	return out
}

// solveLogs are the logs of the base; they are there once it is prepared.
func solveLogs(s solve.Solve, events []solve.Entry) (out []link) {
	for _, e := range events {
		if e.Event != solve.EventBaseReady {
			continue
		}
		if s.Base.Install != "" {
			out = append(out, link{logPath(s.ID, "install.log"), "installing"})
		}
		out = append(out, link{logPath(s.ID, "base-tests.log"), "tests of the base"})
	}
	if s.Decision != nil && len(s.Decision.Cross) > 0 {
		out = append(out, link{logPath(s.ID, "cross-tests.log"), "tests of candidates on each other"})
	}
	return out
}
