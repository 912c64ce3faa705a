package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// ProgressComment is the one comment of a solve that is edited in place, as
// Markdown of at most [MaxComment] bytes with its marker in the first line.
func ProgressComment(v View) string {
	base, stop := "", ""
	if v.Solve.Base.Test.Command != "" {
		base = "Base: " + v.baseText() + ". " + v.baseTests()
	}
	if !v.Solve.State.Final() {
		stop = "Stop it with the comment `/yudai cancel`."
	}
	return comment(solve.Marker(string(v.Solve.ID), string(solve.EffectNotice)),
		v.status(), v.askedBy(), base, v.notes(), v.runsTable(), v.atWork(), v.reproduction(), v.costs()+" "+v.savedSentence(),
		strings.TrimSpace(v.asOf()+" "+stop))
}

// FinalComment is the second comment, which tells people how the solve ended: where the pull request is, which has all the rest, and
// what else they can have; or what was tried, what failed and where to look.
func FinalComment(v View) string {
	parts := []string{solve.Marker(string(v.Solve.ID), string(solve.EffectFinal))}
	if best, ok := v.champion(); ok && v.Solve.State == solve.StateSolved {
		return comment(append(parts, fmt.Sprintf("**%s:** %s holds the patch of run %d of %d, by %s. %s",
			v.graded("Solved"), v.pullText(), best.N, max(len(v.runs()), best.N), experimentText(best.Experiment), v.shown()),
			v.alternates(best.N)+" The comment `/yudai revise TEXT` on the pull request changes it as TEXT says.", v.costs())...)
	}
	parts = append(parts, v.status(), v.withheld())
	if table := v.runsTable(); table != "" {
		parts = append(parts, "### What was tried", table)
	}
	return comment(append(parts, v.reproduction(), v.failures(), v.whereToLook())...)
}

// alternates says which other patches passed, the best first, and how to take one of them.
func (v View) alternates(champion int) string {
	var others []int
	same := solve.Agreement(v.Runs, champion)
	for _, n := range v.Solve.Decision.Ranking {
		if r, _ := v.run(n); n != champion && solve.Eligible(r) && !slices.Contains(same, n) {
			others = append(others, n)
		}
	}
	if len(others) == 0 {
		return strings.TrimSpace("No other patch passed. " + v.checksLink())
	}
	return strings.TrimSpace(fmt.Sprintf("Passed with another patch: %s. The comment `/yudai pick %d` takes that of run %d instead. %s",
		runList(others), others[0], others[0], v.checksLink()))
}

// checksLink says where the check runs are, "" if that is not known.
func (v View) checksLink() string {
	if v.Checks == "" || strings.ContainsAny(v.Checks, " ()<>[]\n") {
		return ""
	}
	return "Each run has a check run, [beside the solve's own](" + v.Checks + ")."
}

// failures lists the tests that stood between each candidate and a pull request.
func (v View) failures() string {
	var b strings.Builder
	for _, r := range v.runs() {
		if r.Verdict == nil || r.Verdict.Outcome == solve.Passed {
			continue
		}
		for _, part := range []struct {
			words string
			names []string
			total int
		}{
			{"broke %s", r.Verdict.BrokenTests, r.Verdict.Broken},
			{"left %s failing", r.Verdict.StillTests, r.Verdict.Still},
			{"brought %s that fail", r.Verdict.NewFailTests, r.Verdict.NewFail},
		} {
			if part.total > 0 {
				fmt.Fprintf(&b, "Run %d "+part.words+":\n\n%s\n", r.N, solve.Count(part.total, "test"), codeList(part.names, 5, part.total))
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "### What failed\n\n" + b.String()
}

func (v View) whereToLook() string {
	s := v.Solve
	var parts []string
	if s.Base.Test.Command != "" {
		parts = append(parts, "The tests of "+v.baseText()+" run with "+codeSpan(s.Base.Test.ForPeople())+".")
	}
	parts = append(parts, v.checksLink(), v.costs(), "The logs name it solve "+codeSpan(string(s.ID))+".")
	return strings.Join(slices.DeleteFunc(parts, func(text string) bool { return text == "" }), " ")
}

// StatusText answers /yudai status. The writer puts the marker before it.
func StatusText(v View) string {
	pull := ""
	if v.Solve.Pull != nil {
		pull = "Pull request: " + v.pullText() + "."
	}
	return comment(v.status(), pull, v.runsTable(), v.atWork(), v.costs()+" "+v.savedSentence())
}

// WhyText answers /yudai why: the decision, the runner-up first.
func WhyText(v View) string {
	switch _, won := v.champion(); {
	case won:
		return comment(v.gradeLine(), v.why(), v.ruleText(), v.trackRecord())
	case v.Solve.State.Final():
		return comment("There is no champion. "+v.status(), v.withheld(), v.runsTable(), v.failures(), v.trackRecord())
	default:
		return comment("There is no decision yet. **" + v.headline() + "**")
	}
}

// RunningText answers a trigger for an issue that already has a live solve.
func RunningText(v View) string {
	return comment("This issue is being solved already. **" + v.headline() + "** " + v.askedBy() +
		" Stop it with the comment `/yudai cancel`, then ask again.")
}

// RefusedText answers somebody without the permission to ask; permission is
// GitHub's word for what they have. It has no Markdown in it, so it can be a solve's reason.
func RefusedText(login, permission string) string {
	has := "has no access to this repository"
	if permission != "" && permission != "none" {
		has = "has the permission \"" + loginText(permission) + "\" here"
	}
	return loginText(login) + " " + has + "; solving an issue needs \"write\" or more. Ask somebody with that " +
		"permission to set the label or write the command."
}

// loginText keeps what a login or a permission is made of.
func loginText(s string) string {
	return solve.Clip(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, s), 60)
}

// HelpText answers /yudai help. labels are the configured trigger labels, the
// default one first.
func HelpText(labels ...string) string {
	return strings.Join([]string{
		"| Comment | What it does |",
		"| --- | --- |",
		"| `/yudai solve` | runs the configured experiments on this issue and opens one pull request with the best result |",
		"| `/yudai status` | shows where the solve of this issue stands |",
		"| `/yudai cancel` | stops it |",
		"| `/yudai retry` | reruns the experiments that did not pass |",
		"| `/yudai pick 3` | puts the patch of run 3 on the pull request, or opens one with it |",
		"| `/yudai why` | explains why the champion won |",
		"| `/yudai revise TEXT` | on the pull request: changes it as TEXT says |",
		"| `/yudai help` | shows this table |",
		"",
		labelHelp(labels) + " does the same as the comment `/yudai solve`. The comment also takes these words; commas separate several values:",
		"",
		"| Word | Meaning |",
		"| --- | --- |",
		"| `models=a,b` | models to try; `auto` chooses by their track record |",
		"| `temps=0.2,0.6` | temperatures, 0 to 2 |",
		"| `edits=3,10` | steps that may change the tree; 0 is no limit |",
		"| `strategies=test-first` | strategies from the configuration |",
		"| `agents=mini` | agents to try |",
		"| `repeat=2` | how often each experiment runs |",
		"| `parallel=2` | experiments at a time |",
		"| `budget=$2,20m` | money, time, or both for all experiments together |",
		"| `base=main` | branch to start from |",
		"| `sandbox=local` | sandbox driver, one of those that the operator offers |",
		"| `stop=first_green` | when to stop: `first_green` at the first result that is proven or supported, `waves` tries the next " +
			"models only if none is, `all` runs everything |",
		"| `reproduce=off` | whether one more run writes tests from the issue: `off`, `auto` where no test fails on the base, or `always` |",
		"| `profile=cheap` | a set of these words from the configuration |",
		"",
		"All of this needs write permission or more.",
	}, "\n") + "\n"
}

// labelHelp names the trigger labels at the start of a sentence.
func labelHelp(labels []string) string {
	if len(labels) == 0 {
		return "The label that the operator configured"
	}
	var names []string
	for _, l := range labels {
		names = append(names, codeSpan(l))
	}
	if len(names) == 1 {
		return "The label " + names[0]
	}
	return "The label " + names[0] + " (or, for a profile, " + strings.Join(names[1:], ", ") + ")"
}

// costs is what the solve has cost, "" if it makes no run of its own, and for which models no limit holds.
func (v View) costs() string {
	words := "Cost so far: "
	if v.Solve.State.Final() {
		words = "Cost of all runs: "
	}
	if len(v.own()) == 0 {
		return ""
	}
	return strings.TrimSpace(words + v.price(v.own()...) + v.andSandboxes() + ". " + v.noLimit(codeSpan))
}

// askedBy names who asked without calling them.
func (v View) askedBy() string {
	t := v.Solve.Trigger
	if t.Actor == "" {
		return ""
	}
	by := "Asked for by " + codeSpan(t.Actor)
	switch t.Kind {
	case solve.TriggerLabel:
		return by + " with a label."
	case solve.TriggerAssigned:
		return by + " by assigning the issue."
	case solve.TriggerCommand:
		return by + " with a comment." + v.continues()
	case solve.TriggerButton:
		return by + " with a button." + v.continues()
	case solve.TriggerReview:
		return by + " with a review." + v.continues()
	default:
		return by + " through the API."
	}
}

// baseTests says what the base's own tests said.
func (v View) baseTests() string {
	base := v.Solve.Base
	out := "Its tests run with " + codeSpan(base.Test.ForPeople())
	switch c := base.Report; {
	case c.Passed+c.Failed+c.Skipped > 0:
		out += fmt.Sprintf(": %d pass, %d fail, %d skipped", c.Passed, c.Failed, c.Skipped)
		if c.Flaky > 0 {
			out += fmt.Sprintf(", %d flaky (left out)", c.Flaky)
		}
	case c.Flaky > 0:
		out += ": they fail at random"
	}
	return out + "."
}

// pullText names the pull request; its number is GitHub's own.
func (v View) pullText() string {
	if v.Solve.Pull == nil || v.Solve.Pull.Number == 0 {
		return "the pull request"
	}
	return fmt.Sprintf("#%d", v.Solve.Pull.Number)
}

// status is where the solve stands, and why.
func (v View) status() string {
	return "**" + v.headline() + "** " + strings.TrimSpace(v.shown()+" "+v.reason())
}

// notes are those of the plan and of the base.
func (v View) notes() string {
	return paragraphs(noteLines(v.Solve.Plan.Notes), noteLines(v.Solve.Base.Notes))
}

func noteLines(notes []string) string {
	var out []string
	for _, note := range notes {
		out = append(out, "Note: "+sentence(Sanitize(note)))
	}
	return paragraphs(out...)
}

// paragraphs joins blocks of Markdown; empty ones are left out.
func paragraphs(blocks ...string) string {
	var out []string
	for _, block := range blocks {
		if block = strings.TrimSpace(block); block != "" {
			out = append(out, block)
		}
	}
	return strings.Join(out, "\n\n")
}

// comment is a comment of these paragraphs.
func comment(blocks ...string) string { return withinLimit(paragraphs(blocks...), MaxComment) }

// withinLimit bounds a text of ours.
func withinLimit(text string, limit int) string {
	return CutMarkdown(text+"\n", limit, "*The rest is left out: GitHub accepts no longer text.*")
}

// continues names the solve that this one continues, and why; "" for most.
func (v View) continues() string {
	f := v.Solve.Follows
	if f == nil {
		return ""
	}
	of := " solve " + codeSpan(string(f.Of)) + "."
	switch f.Kind {
	case solve.FollowPick:
		return fmt.Sprintf(" It makes run %d the champion of", f.N) + of
	case solve.FollowRevise:
		return fmt.Sprintf(" It revises #%d, the champion of", f.Pull.Number) + of
	default:
		return " It reruns the experiments that did not pass in" + of
	}
}
