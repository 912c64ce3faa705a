package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// runPage is the page of a run: its steps, its log, its patch, its tests.
type runPage struct {
	Solve       solve.Solve
	Run         solve.Run
	Title, Back string
	Mark        mark
	Facts       []string
	Texts       report.RunPage
	Task        string
	Steps       []stepRow
	Earlier     int // steps that are not shown
	Log         *logView
	Verdict     *solve.Verdict
	Lists       []testList
	TestLog     string
	Diff        *diffView
	Files       []link
	Rival       int // the run to compare with: the champion, or the best of the others; 0 is none
	Live        bool
}

// maxSteps is how many steps a page shows: the last ones.
const maxSteps = 500

type stepRow struct {
	step
	Facts  []string
	Failed bool
}

type testList struct {
	Name  string
	Tests []string
	More  int
}

func (p *Pages) run(w http.ResponseWriter, r *http.Request) {
	v, err := p.view(r)
	n, bad := strconv.Atoi(r.PathValue("n"))
	at := slices.IndexFunc(v.Runs, func(run solve.Run) bool { return run.N == n })
	if err == nil && (bad != nil || at < 0) {
		err = solve.ErrNotFound
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	run := v.Runs[at]
	body := runPage{
		Solve: v.Solve, Run: run, Title: titleOf(v.Solve), Back: "/solves/" + string(v.Solve.ID), Mark: runMark(v, run),
		Texts: report.RunPageOf(v, n), Facts: runFacts(v, run), Live: !run.State.Final(),
	}
	for _, other := range ordered(v) {
		if other.N != n && other.Attempt > 0 && body.Rival == 0 {
			body.Rival = other.N
		}
	}
	err = p.addSteps(r, v, &body)
	if err == nil && run.Candidate != nil && run.Candidate.Artifact != "" {
		body.Diff, err = p.patch(r, run, nil)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	body.addVerdict()
	frame := page{Title: fmt.Sprintf("Run %d, %s · %s", n, body.Texts.State, body.Title)}
	if body.Live {
		frame.Live = "/live?solve=" + string(v.Solve.ID)
	}
	p.show(w, r, http.StatusOK, "run.html", frame, body)
}

// addSteps adds the steps and the log, where they are kept.
func (p *Pages) addSteps(r *http.Request, v report.View, body *runPage) error {
	src, err := p.runSource(r.Context(), v, body.Run.N)
	var s *trajectory
	if err == nil {
		s, err = p.trajectory(r.Context(), body.Run)
	}
	if errors.Is(err, solve.ErrNotFound) || body.Run.Attempt == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	log := viewOf(v.Solve.ID, src, r)
	body.Log, body.Task = &log, s.task
	body.Earlier = max(0, len(s.steps)-maxSteps)
	for _, one := range s.steps[body.Earlier:] {
		body.Steps = append(body.Steps, rowOf(one))
	}
	id := string(v.Solve.ID)
	body.Files = append(body.Files, link{log.Path + "/raw", "log"})
	if c := body.Run.Candidate; c != nil && c.Artifact != "" {
		body.Files = append(body.Files, link{"/solves/" + id + "/files/" + c.Artifact, "patch"})
	}
	if body.Run.State.Final() {
		body.Files = append(body.Files, link{fmt.Sprintf("/solves/%s/files/run-%d.traj.json", id, body.Run.N), "trajectory"})
	}
	return nil
}

func rowOf(s step) stepRow {
	row := stepRow{step: s, Failed: s.Ran && s.Exit != 0, Facts: []string{strconv.Itoa(s.N)}}
	if s.Took > 0 {
		row.Facts = append(row.Facts, solve.FormatDuration(s.Took))
	}
	if s.Cost > 0 {
		row.Facts = append(row.Facts, s.Cost.String())
	}
	if row.Failed {
		row.Facts = append(row.Facts, fmt.Sprintf("✕ exit %d", s.Exit))
	}
	if s.Lines > 0 {
		row.Facts = append(row.Facts, solve.Count(s.Lines, "line"))
	}
	return row
}

// runFacts are the facts beside the title.
func runFacts(v report.View, r solve.Run) []string {
	u := r.Progress.Usage
	out := []string{r.Experiment.Agent, report.Steps(v.Solve, r) + " steps"}
	if r.AgentTime > 0 {
		out = append(out, solve.FormatDuration(r.AgentTime))
	}
	out = append(out, report.RunPageOf(v, r.N).Cost, thousands(int(u.Input+u.Output))+" tokens")
	if v.Solve.Plan.Sandbox != "" {
		out = append(out, v.Solve.Plan.Sandbox+" sandbox")
	}
	if r.Attempt > 1 {
		out = append(out, fmt.Sprintf("attempt %d", r.Attempt))
	}
	return out
}

// addVerdict adds what the tests said.
func (b *runPage) addVerdict() {
	v := b.Run.Verdict
	if v == nil {
		return
	}
	b.Verdict = v
	add := func(name string, tests []string, all int) {
		if len(tests) > 0 {
			b.Lists = append(b.Lists, testList{name, tests, max(all-len(tests), 0)})
		}
	}
	add("✓ fixed", v.FixedTests, v.Fixed)
	add("✕ broken", v.BrokenTests, v.Broken)
	add("✕ still failing", v.StillTests, v.Still)
	add("✕ new and failing", v.NewFailTests, v.NewFail)
	add("✓ proofs: own tests that fail without the change", v.ProofTests, v.Proofs)
	add("~ flaky, left out", v.FlakyTests, v.Flaky)
	add("! test files that are weakened", v.Weakens, len(v.Weakens))
	if v.Log != "" {
		b.TestLog = logPath(b.Solve.ID, v.Log)
	}
}
