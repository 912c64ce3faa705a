package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// maxCompared is how many runs are compared at a time, and comparedSteps how many steps a page shows.
	maxCompared   = 6
	comparedSteps = 100
)

// comparePage has what several runs did in columns, aligned by step.
type comparePage struct {
	Solve          solve.Solve
	Title, Runs    string // Runs are the numbers as the address has them
	Picks          []pick // all runs that began
	Columns        []comparedRun
	Rows           []comparedStep
	Earlier, Later int // the first step of the part before and after; 0 if there is none
}

type comparedRun struct {
	pick
	Path  string
	Mark  mark
	Facts []string
	steps []step
}

type comparedStep struct {
	N     int
	Parts bool       // here the runs do different things for the first time
	Cells []*stepRow // nil where the run had ended
}

// compare shows the runs of ?runs=1,2,3 in this order; without it the two best ones.
func (p *Pages) compare(w http.ResponseWriter, r *http.Request) {
	v, err := p.view(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	began := slices.DeleteFunc(ordered(v), func(run solve.Run) bool { return run.Attempt == 0 })
	body := comparePage{Solve: v.Solve, Title: titleOf(v.Solve)}
	chosen := chosenRuns(r.URL.Query()["runs"], began)
	var names []string
	for _, run := range chosen {
		column, err := p.comparedRun(r, v, run)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		names, body.Columns = append(names, strconv.Itoa(run.N)), append(body.Columns, column)
	}
	for _, run := range began {
		here := slices.ContainsFunc(chosen, func(c solve.Run) bool { return c.N == run.N })
		body.Picks = append(body.Picks, pick{run.N, report.RunPageOf(v, run.N).Name, here})
	}
	body.Runs = strings.Join(names, ",")
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	body.addRows(from)
	frame := page{Title: "Steps compared · " + body.Title}
	if !v.Solve.State.Final() {
		frame.Live = "/live?solve=" + string(v.Solve.ID)
	}
	p.show(w, r, http.StatusOK, "compare.html", frame, body)
}

// chosenRuns are those that a request names, each once, as many as are compared.
func chosenRuns(lists []string, began []solve.Run) (out []solve.Run) {
	for name := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		i := slices.IndexFunc(began, func(run solve.Run) bool { return strconv.Itoa(run.N) == name })
		if i >= 0 && len(out) < maxCompared && !slices.ContainsFunc(out, func(run solve.Run) bool { return run.N == began[i].N }) {
			out = append(out, began[i])
		}
	}
	if len(out) == 0 {
		return began[:min(len(began), 2)]
	}
	return out
}

func (p *Pages) comparedRun(r *http.Request, v report.View, run solve.Run) (comparedRun, error) {
	c := comparedRun{
		pick: pick{N: run.N, Name: report.RunPageOf(v, run.N).Name},
		Path: runPath(v.Solve.ID, run.N), Mark: runMark(v, run), Facts: runFacts(v, run),
	}
	if run.Progress.Output > maxCached/maxCompared { // all columns together fit into what is kept at hand
		c.Facts = append(c.Facts, "its steps are too long for this page")
		return c, nil
	}
	s, err := p.trajectory(r.Context(), run)
	switch {
	case err == nil:
		c.steps = s.steps
	case errors.Is(err, solve.ErrNotFound):
		c.Facts, err = append(c.Facts, "its steps are kept no more"), nil
	}
	return c, err
}

// addRows aligns the steps by their numbers, from one on.
func (b *comparePage) addRows(from int) {
	last, parted := 0, false
	for _, c := range b.Columns {
		last = max(last, len(c.steps))
	}
	from = min(max(from, 1), max(last, 1))
	if b.Earlier = max(from-comparedSteps, 1); from == 1 {
		b.Earlier = 0
	}
	for n := 1; n <= last && n < from+comparedSteps; n++ {
		row, commands := comparedStep{N: n}, map[string]bool{}
		for _, c := range b.Columns {
			if n > len(c.steps) {
				if row.Cells = append(row.Cells, nil); len(c.steps) > 0 { // of a run without steps it is not known
					commands[""] = true
				}
				continue
			}
			cell := rowOf(c.steps[n-1])
			row.Cells, commands["$"+cell.Command] = append(row.Cells, &cell), true
		}
		row.Parts, parted = len(commands) > 1 && !parted, parted || len(commands) > 1
		if n >= from {
			b.Rows = append(b.Rows, row)
		}
	}
	if last >= from+comparedSteps {
		b.Later = from + comparedSteps
	}
}
