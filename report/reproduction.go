package report

import (
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// reproduction says what came of the reproducer, as Markdown; "" where there is none to tell of.
func (v View) reproduction() string {
	return v.reproductionText(codeSpan, Sanitize, codeSpan(v.baseBranch()))
}

// plainReproduction is the same as plain text.
func (v View) plainReproduction() string {
	return v.reproductionText(plainLine, solve.OneLine, solve.Clip(plainLine(v.baseBranch()), 80))
}

func (v View) reproductionText(name, safe func(string) string, base string) string {
	r, ok := solve.Reproducer(v.Runs)
	if !ok || r.NotNeeded {
		return ""
	}
	who := fmt.Sprintf("Reproduction: run %d (%s) ", r.N, name(solve.Clip(r.Experiment.Model, 80)))
	switch {
	case !r.State.Final():
		return who + "writes tests from the issue alone that fail on " + base + "."
	case r.State != solve.RunPassed || r.Verdict == nil:
		return who + "wrote no test that counts: " + sentence(safe(solve.Clip(v.reproducerReason(r), 300)))
	}
	tests := solve.Count(r.Verdict.Proofs, "test")
	return who + "wrote " + tests + " from the issue alone, red on " + base + "." + v.reproductionResult(r.N)
}

func (v View) reproducerReason(r solve.Run) string {
	switch {
	case r.Candidate != nil && r.Candidate.Refused != "":
		return r.Candidate.Refused
	case r.Verdict != nil && r.Verdict.Reason != "":
		return r.Verdict.Reason
	case r.Reason != "":
		return r.Reason
	}
	return r.Words()
}

// reproductionResult says how the tests of this run came out with the candidates, and where they are.
func (v View) reproductionResult(author int) string {
	d := v.Solve.Decision
	if d == nil {
		return ""
	}
	n, models := d.Reproduced(v.Runs)
	text := fmt.Sprintf(" Passed by %s, of %s.", solve.Count(n, "candidate"), solve.Count(models, "model"))
	switch {
	case !slices.ContainsFunc(d.Cross, func(c solve.CrossResult) bool { return c.Author == author }):
		text = " They ran on no candidate."
	case n == 0:
		text = " Passed by no candidate."
	}
	switch {
	case v.Solve.PublishesTests(v.Runs) != 0:
		text += " They are in the commit before the champion's."
	case d.Offered(v.Runs) != 0:
		text += " You can take them from its patch."
	}
	return text
}

// reproductionTests lists the tests that are offered with the champion, "" if none are.
func (v View) reproductionTests() string {
	r, ok := solve.Reproducer(v.Runs)
	if !ok || v.Solve.Decision == nil || v.Solve.Decision.Offered(v.Runs) == 0 {
		return ""
	}
	return paragraphs("### Tests written from the issue", lookAt(r.Candidate.Flags),
		codeList(r.Verdict.ProofTests, 20, r.Verdict.Proofs), fileList(r.Candidate.Files, 10))
}

// TestsMessage is the message of the commit that holds the reproducer's tests.
func TestsMessage(v View) string {
	text := solve.CutText("test: "+shortTitle(v.Solve.Issue), MaxTitle) + "\n\n"
	if v.Solve.Trigger.Kind != solve.TriggerLocal { // no number of GitHub's
		text += fmt.Sprintf("For #%d.\n\n", v.Solve.Issue.Number)
	}
	r, _ := solve.Reproducer(v.Runs)
	return text + fmt.Sprintf("Written from the issue alone, by run %d: model %s.\nIt fails without the commit after this one.\n",
		r.N, solve.Clip(plainLine(r.Experiment.Model), 80))
}
