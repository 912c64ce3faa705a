package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"al.essio.dev/pkg/shellescape"

	"github.com/yudai-dev/yudai/solve"
)

// PullTitle is the pull request's title, the subject of the commit.
func PullTitle(v View) string { return solve.CutText(v.subject(), MaxTitle) }

// subject is the kind of the change and the issue's title.
func (v View) subject() string { return v.kind() + ": " + shortTitle(v.Solve.Issue) }

// saidKind is the kind of change that people write before an issue's title: "Bug: ", "[docs] ", "feat(cart)!: ", "fix - ". A
// hyphen needs a space after it: "Feature-flag" and "Docs -v" are words of the title.
func saidKind() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\[?(?:(fix|bug|bugfix|issue)|(feat|feature|feature request|enhancement)|(docs?|documentation))` +
		`\]?(?:\([^)]*\))?!?\s*(?:[:\]]\s*|-\s+)`)
}

// kind is "fix", "feat" or "docs": what the issue's title says before a colon or in brackets; else docs for a champion that
// changes documents only; else feat for a title that begins with add, allow, implement or introduce and does not go on like
// "Add is wrong"; else fix.
func (v View) kind() string {
	title := plainLine(v.Solve.Issue.Title)
	if said := saidKind().FindStringSubmatch(title); said != nil {
		return []string{"fix", "feat", "docs"}[slices.IndexFunc(said[1:], func(s string) bool { return s != "" })]
	}
	document := regexp.MustCompile(`(?i)\.(?:md|rst|adoc)$|^docs?/.*\.txt$`)
	best, _ := v.champion()
	if c := best.Candidate; c != nil && len(c.Files) > 0 &&
		!slices.ContainsFunc(c.Files, func(f solve.FileChange) bool { return !document.MatchString(f.Path) }) {
		return "docs"
	}
	asks := regexp.MustCompile(`(?i)^(?:add|allow|implement|introduce)\s`).MatchString(title)
	verb := `(?:is|does|doesn't|has|returns|gives|fails|crashes|breaks|loses|ignores|panics)`
	tells := regexp.MustCompile(`(?i)^\w+\s` + verb + `\b`).MatchString(title)
	if asks && !tells {
		return "feat"
	}
	return "fix"
}

// shortTitle is the issue's title, cleaned and cut to 60 characters at
// a word. What people wrote before a colon as kind of change is not repeated.
func shortTitle(issue solve.Issue) string {
	title := saidKind().ReplaceAllString(plainLine(issue.Title), "")
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
	return title
}

// CommitMessage is the champion's conventional commit. It has no author of its
// own: GitHub signs what the App writes. People are named without the sign that calls them.
func CommitMessage(v View) string {
	var b strings.Builder
	title := v.subject()
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

// PullBody begins with what the champion's agent says of its change and with the grade. Then come why this one and no other,
// what it changes and how to test that, and, folded, all runs and how to recompute the choice. It closes the issue only where GitHub
// heeds such a word, in a pull request to the default branch.
func PullBody(v View) string {
	s, word := v.Solve, "For"
	if s.Base.Branch != "" && s.Base.Branch == s.Repo.DefaultBranch {
		word = "Fixes"
	}
	parts := []string{
		solve.Marker(string(s.ID), string(solve.EffectPull)),
		v.agentWords(),
		v.gradeLine(),
		fmt.Sprintf("%s #%d: %s", word, s.Issue.Number, Sanitize(solve.Clip(s.Issue.Title, 200))),
	}
	if best, ok := v.champion(); ok {
		parts = append(parts, v.warnings(best)...)
		parts = append(parts, "### Why this one", v.whyAgainst(2))
		parts = append(parts, v.changes(best)...)
		parts = append(parts, v.testYourself(), folded("All runs", v.facts(best), v.runsTable()),
			v.ruleText(), v.askedBy()+" Solve "+codeSpan(string(s.ID))+".")
	}
	return withinLimit(paragraphs(parts...), MaxBody)
}

// testYourself are the commands that run the tests with the change in a clone, "" where the test command is not known.
func (v View) testYourself() string {
	command := v.Solve.Base.Test.ForPeople()
	if command == "" {
		return ""
	}
	return paragraphs("### Run the tests yourself", "In a clone of this repository:",
		fence("git fetch origin "+shellescape.Quote(v.Solve.Branch)+" && git switch --detach FETCH_HEAD\n"+command))
}

// agentWords are what the champion's agent says of its change, as a quote that names it; "" if it does not say.
func (v View) agentWords() string {
	best, ok := v.champion()
	words := Sanitize(solve.Clip(best.Summary, solve.MaxSummary))
	if !ok || words == "" {
		return ""
	}
	return fmt.Sprintf("> %s\n>\n> — the agent of run %d (%s), in its own words; yudai did not check them",
		words, best.N, codeSpan(best.Experiment.Model))
}

// warnings are what people should know before they look at the change.
func (v View) warnings(best solve.Run) []string {
	var parts []string
	if v.Solve.Revision() {
		parts = append(parts, "This is the scorecard of the last revision. It compares with the pull request before that revision.")
	}
	parts = append(parts, noteLines(v.Solve.Base.Notes))
	if c := best.Candidate; c != nil {
		parts = append(parts, lookAt(c.Flags))
		if best.Verdict != nil && len(best.Verdict.Weakens) > 0 {
			parts = append(parts, "**It weakens existing tests:**\n\n"+codeList(best.Verdict.Weakens, 10, 0))
		}
	}
	return parts
}

// changes are what the champion changes and which tests show it.
func (v View) changes(best solve.Run) []string {
	var parts []string
	if c := best.Candidate; c != nil {
		parts = append(parts, "### What it changes", fileList(c.Files, 30))
	}
	if t := best.Verdict; t != nil && t.Fixed > 0 {
		parts = append(parts, "### Tests it fixes", codeList(t.FixedTests, 20, t.Fixed))
	}
	return append(parts, v.reproductionTests())
}

// lookAt says what people should look at in a patch.
func lookAt(flags []string) string {
	var out []string
	for _, f := range flags {
		out = append(out, "**Look at this before you merge:** "+sentence(Sanitize(f)))
	}
	return paragraphs(out...)
}
