package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/solve"
)

// PullTitle is the pull request's title, the subject of the commit.
func PullTitle(v View) string { return solve.CutText(subject(v.Solve.Issue), MaxTitle) }

// subject is "fix: " and the issue's title, cleaned and cut to 60 characters at
// a word. What people wrote before a colon as kind of change is not repeated.
func subject(issue solve.Issue) string {
	title := plainLine(issue.Title)
	title = regexp.MustCompile(`(?i)^\[?(?:fix|bug|bugfix|issue)\]?(?:\([^)]*\))?!?\s*[:\]-]\s*`).ReplaceAllString(title, "")
	title = strings.TrimLeft(title, "/ ")
	if len([]rune(title)) > 60 {
		short := string([]rune(title)[:59])
		if i := strings.LastIndexFunc(short, unicode.IsSpace); i > 30 {
			short = short[:i]
		}
		title = strings.TrimRight(short, " ,.;:-") + "…"
	}
	if title == "" {
		title = fmt.Sprintf("issue %d", issue.Number)
	}
	return "fix: " + title
}

// CommitMessage is the champion's conventional commit. It has no author of its
// own: GitHub signs what the App writes. People are named without the sign that calls them.
func CommitMessage(v View) string {
	var b strings.Builder
	title := subject(v.Solve.Issue)
	if v.Solve.Revision() {
		title = fmt.Sprintf("fix: address the review of #%d", v.Solve.Follows.Pull.Number)
	}
	b.WriteString(title + "\n\n")
	if v.Solve.Trigger.Kind != solve.TriggerLocal { // no number of GitHub's
		fmt.Fprintf(&b, "For #%d.\n", v.Solve.Issue.Number)
	}
	if r, ok := v.champion(); ok {
		fmt.Fprintf(&b, "\nRun %d of %d: model %s, temperature %s", r.N, max(len(v.runs()), r.N),
			solve.Clip(plainLine(r.Experiment.Model), 80), solve.TemperatureText(r.Experiment.Temperature))
		if s := plainLine(r.Experiment.Strategy); s != "" {
			b.WriteString(", strategy " + solve.Clip(s, 80))
		}
		fmt.Fprintf(&b, ".\nTests: %s.\n", testsText(r))
		b.WriteString(v.plainGrade())
	}
	b.WriteString("\n")
	if t := v.Solve.Trigger; !t.Kind.Operator() && plainLine(t.Actor) != "" {
		b.WriteString("Requested-by: " + solve.Clip(plainLine(t.Actor), 80) + "\n")
	}
	b.WriteString("Yudai-Solve: " + solve.MarkerWord(string(v.Solve.ID)) + "\n")
	return b.String()
}

// PullBody is the scorecard: what the champion fixes and how, all runs, why
// this one, and how to recompute that. It closes the issue only where GitHub
// heeds such a word, in a pull request to the default branch.
func PullBody(v View) string {
	s, word := v.Solve, "For"
	if s.Base.Branch != "" && s.Base.Branch == s.Repo.DefaultBranch {
		word = "Fixes"
	}
	parts := []string{
		solve.Marker(string(s.ID), string(solve.EffectPull)),
		v.gradeLine(),
		fmt.Sprintf("%s #%d: %s", word, s.Issue.Number, Sanitize(solve.Clip(s.Issue.Title, 200))),
	}
	if best, ok := v.champion(); ok {
		parts = append(parts, v.championParts(best)...)
		parts = append(parts, "### Why this one", v.why(), "### All runs", v.runsTable())
		if s.Base.Test.Command != "" {
			parts = append(parts, "### Run the tests yourself", fence(s.Base.Test.ForPeople()))
		}
		parts = append(parts, v.ruleText(), v.askedBy()+" Solve "+codeSpan(string(s.ID))+".")
	}
	return withinLimit(paragraphs(parts...), MaxBody)
}

// championParts say what the champion changes, and what people should look at.
func (v View) championParts(best solve.Run) []string {
	var parts []string
	if v.Solve.Revision() {
		parts = append(parts, "This is the scorecard of the last revision. It compares with the pull request before that revision.")
	}
	parts = append(parts, v.facts(best), noteLines(v.Solve.Base.Notes))
	if c := best.Candidate; c != nil {
		parts = append(parts, lookAt(c.Flags))
		if best.Verdict != nil && len(best.Verdict.Weakens) > 0 {
			parts = append(parts, "**It weakens existing tests:**\n\n"+codeList(best.Verdict.Weakens, 10, 0))
		}
		parts = append(parts, "### What it changes", fileList(c.Files, 30))
	}
	if t := best.Verdict; t != nil && t.Fixed > 0 {
		parts = append(parts, "### Tests it fixes", codeList(t.FixedTests, 20, t.Fixed))
	}
	parts = append(parts, v.reproductionTests())
	return parts
}

// lookAt says what people should look at in a patch.
func lookAt(flags []string) string {
	var out []string
	for _, f := range flags {
		out = append(out, "**Look at this before you merge:** "+sentence(Sanitize(f)))
	}
	return paragraphs(out...)
}
