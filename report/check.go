package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Conclusions of our check runs. None is a failure: a check run colours its commit, and
// a missing patch says nothing about that commit.
const (
	ConclusionSuccess   = "success"
	ConclusionNeutral   = "neutral"
	ConclusionCancelled = "cancelled"
)

// CheckOf is the solve's check run: the table of runs, and the scorecard as
// soon as there is a champion.
func CheckOf(v View) Check {
	c := Check{Name: "yudai", Status: "in_progress", Title: v.headline(), Actions: v.actions()}
	switch s := v.Solve.State; {
	case s == solve.StateQueued:
		c.Status = "queued"
	case s.Final():
		c.Status, c.Conclusion = "completed", ConclusionNeutral
		if s == solve.StateSolved {
			c.Conclusion = ConclusionSuccess
		}
		if s == solve.StateCancelled {
			c.Conclusion = ConclusionCancelled
		}
	}
	text := ""
	if best, ok := v.champion(); ok {
		text = paragraphs(v.facts(best), "### Why this one", v.why(), v.ruleText())
	} else if v.Solve.State.Final() {
		text = paragraphs(v.withheld(), v.failures())
	}
	summary := paragraphs(v.headline()+" "+strings.TrimSpace(v.shown()+" "+v.reason()), v.askedBy(), v.notes(), v.runsTable(),
		v.atWork(), v.costs(), v.asOf())
	return c.bounded(summary, text)
}

// RunCheckOf is the check run of run n. It says so if the run never started.
func RunCheckOf(v View, n int) Check {
	r, exists := v.run(n)
	c := Check{Name: runCheckName(r), Status: "queued", Title: v.runTitle(r, exists), Actions: v.runActions(n)}
	switch {
	case !exists && v.Solve.State.Final():
		c.Status, c.Conclusion = "completed", ConclusionNeutral
	case r.State.Active():
		c.Status = "in_progress"
	case r.State == solve.RunPassed:
		c.Status, c.Conclusion = "completed", ConclusionSuccess
	case r.State == solve.RunCancelled && !r.NotNeeded:
		c.Status, c.Conclusion = "completed", ConclusionCancelled
	case r.State.Final():
		c.Status, c.Conclusion = "completed", ConclusionNeutral
	}
	asOf := ""
	if r.State.Active() {
		asOf = v.asOf()
	}
	return c.bounded(paragraphs(v.runSummary(r), asOf), runDetails(r))
}

// nativeAgent is the agent that needs no mention.
const nativeAgent = "mini"

// runCheckName is the same for the whole life of a run: "yudai / 3: gpt-5-mini t=0.2 test-first".
func runCheckName(r solve.Run) string {
	x := r.Experiment
	words := []string{solve.Clip(plainLine(x.Model), 60)}
	if x.Temperature != nil {
		words = append(words, "t="+solve.TemperatureText(x.Temperature))
	}
	if x.MaxEdits > 0 {
		words = append(words, "e="+strconv.Itoa(x.MaxEdits))
	}
	strategy := x.Strategy
	if r.Reproduces() {
		strategy = "reproducer"
	}
	words = append(words, solve.Clip(plainLine(strategy), 40))
	if x.Agent != nativeAgent && x.Agent != "" {
		words = append(words, solve.Clip(plainLine(x.Agent), 40))
	}
	if x.Repeat > 1 {
		words = append(words, "again "+strconv.Itoa(x.Repeat))
	}
	return strings.TrimSpace(fmt.Sprintf("yudai / %d: %s", r.N, strings.Join(words, " ")))
}

func (v View) runTitle(r solve.Run, exists bool) string {
	switch {
	case !exists && v.Solve.State.Final():
		return "did not run"
	case r.Verdict != nil && r.Reproduces():
		return v.stateText(r) + ": " + v.reproducerReason(r)
	case r.Verdict != nil:
		return v.stateText(r) + ": " + testsText(r)
	case r.State == solve.RunWorking:
		return strings.TrimSuffix("working: step "+Steps(v.Solve, r)+", "+v.latency(r), ", ")
	default:
		return v.stateText(r)
	}
}

// runSummary is a run's own scorecard.
func (v View) runSummary(r solve.Run) string {
	t := newFacts("Run", strconv.Itoa(r.N))
	t.add("State", v.stateText(r))
	t.add("Waits for", Sanitize(waits(r)))
	if r.State == solve.RunWorking && r.Progress.Last != "" {
		t.add("Last action", codeCell(solve.Clip(r.Progress.Last, solve.MaxAction)))
	}
	t.add("Why not", Sanitize(solve.Clip(v.whyNot(r), 500)))
	if r.Verdict != nil || r.State.Final() {
		t.add("Tests", testsText(r))
	}
	if c := r.Candidate; c != nil {
		t.add("Change", fmt.Sprintf("%s, +%d -%d", solve.Count(len(c.Files), "file"), c.Added, c.Deleted))
	}
	v.experimentFacts(t, r)
	t.add("Latency", v.latency(r))
	u := r.Progress.Usage
	t.add("Work", fmt.Sprintf("%s, %s", solve.Count(r.Progress.Steps, "step"), solve.Count(r.Progress.Edits, "edit")))
	t.add("Cost", fmt.Sprintf("%s (%s, %d tokens in, %d out%s)", v.price(r), solve.Count(u.Calls, "call"), u.Input, u.Output, estimateText(u)))
	if v.unpriced(r) {
		t.add("Limits of money", "none holds: the model has no price in the configuration")
	}
	if cost := r.SandboxCost(); cost > 0 {
		t.add("Sandboxes", cost.String()+onDrivers(r.SandboxUses))
	}
	if r.Attempt > 1 {
		t.add("Attempt", strconv.Itoa(r.Attempt))
	}
	if r.Exit != "" {
		t.add("Agent's end", codeCell(r.Exit))
	}
	return t.String()
}

// runDetails lists files, tests and flags of a run.
func runDetails(r solve.Run) string {
	var parts []string
	if c := r.Candidate; c != nil {
		for _, f := range c.Flags {
			parts = append(parts, "Look at: "+sentence(Sanitize(f)))
		}
		parts = append(parts, "### Changed files", fileList(c.Files, 50))
	}
	if t := r.Verdict; t != nil {
		for _, l := range []struct {
			title string
			names []string
			total int
		}{
			{"Fixed tests", t.FixedTests, t.Fixed},
			{"Its own tests that fail without it", t.ProofTests, t.Proofs},
			{"Broken tests", t.BrokenTests, t.Broken},
			{"Tests that still fail", t.StillTests, t.Still},
			{"New tests that fail", t.NewFailTests, t.NewFail},
			{"Flaky tests, left out", t.FlakyTests, t.Flaky},
			{"Weakened test files", t.Weakens, len(t.Weakens)},
			{"Files that steer tests, put back", t.Restored, len(t.Restored)},
		} {
			if l.total > 0 {
				parts = append(parts, "### "+l.title, codeList(l.names, 50, l.total))
			}
		}
	}
	return paragraphs(parts...)
}

// fileList lists the changed files with their line counts.
func fileList(files []solve.FileChange, n int) string {
	var b strings.Builder
	for _, f := range files[:min(n, len(files))] {
		from := ""
		if f.OldPath != "" {
			from = " from " + codeSpan(f.OldPath)
		}
		lines := fmt.Sprintf("+%d -%d", f.Added, f.Deleted)
		if f.Binary {
			lines = "binary"
		}
		fmt.Fprintf(&b, "- %s%s (%s, %s)\n", codeSpan(f.Path), from, Sanitize(f.Op), lines)
	}
	if rest := len(files) - n; rest > 0 {
		fmt.Fprintf(&b, "- and %d more\n", rest)
	}
	return b.String()
}

// bounded puts the texts in and keeps everything within GitHub's limits.
func (c Check) bounded(summary, text string) Check {
	c.Name = solve.CutText(c.Name, MaxTitle)
	c.Title = solve.CutText(solve.OneLine(c.Title), MaxTitle)
	c.Summary = withinLimit(summary, MaxCheck)
	if text != "" {
		c.Text = withinLimit(text, MaxCheck)
	}
	return c
}
