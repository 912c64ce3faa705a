package web

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// endedTime is how long an ended solve is on the board, and maxEnded how many of them are.
	endedTime = 7 * 24 * time.Hour
	maxEnded  = 50
	// maxDots is how many runs a card shows.
	maxDots = 48
)

// boardPage is the board: solves as cards, in columns by state.
type boardPage struct {
	Columns             []column
	Working, Waiting    int
	Spent, Limit        solve.Money
	Slots, Taken        int
	Label               string
	Empty, Filtered     bool
	Health              []healthRow
	Operator            bool // who also sees what all repositories cost
	Repos, People       []string
	Repo, Person, State string
	States              []string
	Within              string // a duration: solves that began in the last so much time
	from                time.Time
}

type column struct {
	Name  string
	Cards []card
}

// card is a solve on the board.
type card struct {
	Path, Title, Where, Text string
	Mark                     mark
	Dots                     []string // a class for each run
	More                     int      // runs that have no dot
}

// columnNames are the columns in their order.
func columnNames() []string { return []string{"Waiting", "At work", "Publishing", "Ended"} }

func columnOf(s solve.State) int {
	switch {
	case s == solve.StateQueued:
		return 0
	case s == solve.StatePublishing:
		return 2
	case s.Final():
		return 3
	}
	return 1
}

func (p *Pages) board(w http.ResponseWriter, r *http.Request) {
	views, spent, err := p.solves(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	b := boardPage{
		Repo: q.Get("repo"), Person: q.Get("person"), State: q.Get("state"), Label: p.Label, Slots: p.Slots, Limit: p.DayLimit,
		Empty: len(views) == 0, Spent: spent, Operator: viewer(r.Context()).operator(),
	}
	if within, err := time.ParseDuration(q.Get("within")); err == nil {
		b.Within, b.from = within.String(), p.Now().Add(-within)
	}
	if b.Operator || !b.Empty { // anybody can sign in
		b.Health = p.healthFor(r)
	}
	b.Filtered = b.Repo+b.Person+b.State+b.Within != ""
	for _, name := range columnNames() {
		b.Columns = append(b.Columns, column{Name: name})
	}
	for _, v := range views {
		b.add(v)
	}
	for _, list := range []*[]string{&b.Repos, &b.People, &b.States} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	p.show(w, r, http.StatusOK, "board.html", page{Title: "Solves", Live: "/live"}, b)
}

// add counts a solve, and puts its card on the board if the filters let it pass.
func (b *boardPage) add(v report.View) {
	s := v.Solve
	b.Repos, b.People = append(b.Repos, s.Repo.String()), append(b.People, s.Trigger.Actor)
	b.States = append(b.States, string(s.State))
	switch c := columnOf(s.State); {
	case c == 0:
		b.Waiting++
	case c < 3:
		b.Working++
	}
	for _, run := range v.Runs {
		if run.State.Active() {
			b.Taken++
		}
	}
	passes := func(want, is string) bool { return want == "" || want == is }
	if !passes(b.Repo, s.Repo.String()) || !passes(b.Person, s.Trigger.Actor) || !passes(b.State, string(s.State)) ||
		axisOf(s, time.Time{}).from.Before(b.from) {
		return
	}
	at := &b.Columns[columnOf(s.State)]
	at.Cards = append(at.Cards, cardOf(v))
}

func cardOf(v report.View) card {
	s, texts := v.Solve, report.PageOf(v)
	c := card{Path: "/solves/" + string(s.ID), Title: titleOf(s), Where: whereOf(s), Text: texts.Headline, Mark: solveMark(v)}
	if s.State.Final() {
		c.Text = "cost " + texts.Cost
		if s.State != solve.StateSolved && texts.Reason != "" {
			c.Text = texts.Reason
		}
	}
	for i, run := range v.Runs {
		if i == maxDots {
			c.More = len(v.Runs) - i
			break
		}
		c.Dots = append(c.Dots, runDot(run))
	}
	return c
}

// solves reads the live solves and those that ended lately, with their runs, as far as who asks may see them, and what
// all of them cost in 24 hours.
func (p *Pages) solves(r *http.Request) (out []report.View, spent solve.Money, err error) {
	ctx := r.Context()
	list, err := p.Store.LiveSolves(ctx)
	if err != nil {
		return nil, 0, err
	}
	queue := solve.Queue(list)
	for i, s := range list {
		if at := slices.IndexFunc(queue, func(o solve.Solve) bool { return o.ID == s.ID }); at >= 0 {
			list[i].Place, list[i].Queue = at+1, len(queue)
		}
	}
	list = slices.DeleteFunc(list, func(s solve.Solve) bool { return !p.reads(r, s.Repo) })
	now := p.Now()
	rows, err := p.Store.Spent(ctx, now.Add(-endedTime))
	if err != nil {
		return nil, 0, err
	}
	ended := 0
	for _, row := range slices.Backward(rows) {
		if now.Sub(row.Started) < 24*time.Hour {
			spent += row.Cost
		}
		if row.Live || ended == maxEnded {
			continue
		}
		s, err := p.Store.Solve(ctx, row.Solve)
		if errors.Is(err, solve.ErrNotFound) { // pruned
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if !p.reads(r, s.Repo) {
			continue
		}
		ended++
		list = append(list, s)
	}
	for _, s := range list {
		runs, err := p.Store.Runs(ctx, s.ID)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, report.View{Solve: s, Runs: runs})
	}
	return out, spent, nil
}
