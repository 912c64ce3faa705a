package report

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/solve"
)

// baseBranch is the branch that the solve started from.
func (v View) baseBranch() string {
	if v.Solve.Revision() {
		return v.Solve.Branch
	}
	return v.Solve.Base.Branch
}

// graded adds the champion's grade to a word: "Solved, proven".
func (v View) graded(word string) string {
	if g := v.Solve.Grade(v.Runs); g != "" {
		return word + ", " + string(g)
	}
	return word
}

// gradeFacts say why run n has its grade and how often that grade is right;
// base is the base branch as the text's format wants it.
func (v View) gradeFacts(n int, base string) string {
	d := v.Solve.Decision
	if d == nil {
		return ""
	}
	reason := solve.GradeReason(v.Runs, *d, n, base)
	if reason == "" {
		return ""
	}
	grade := solve.GradeOf(v.Runs, d.Cross, n)
	facts := sentence(reason)
	if p := grade.Precision(); p > 0 {
		facts += fmt.Sprintf(" On published issues, %d %% of the %s champions were right.", p, grade)
	}
	return facts
}

// shown is what shows that the champion is right, as Markdown; "" where there is none.
func (v View) shown() string {
	best, ok := v.champion()
	if !ok {
		return ""
	}
	return strings.TrimSpace(capital(v.gradeFacts(best.N, codeSpan(v.baseBranch()))) + " " + weakensText(best))
}

// plainShown is the same as plain text, which begins with a small letter.
func (v View) plainShown() string {
	best, ok := v.champion()
	if !ok {
		return ""
	}
	return strings.TrimSpace(v.gradeFacts(best.N, solve.Clip(plainLine(v.baseBranch()), 80)) + " " + weakensText(best))
}

// plainGrade is the same with the grade before it.
func (v View) plainGrade() string {
	if g := v.Solve.Grade(v.Runs); g != "" {
		return capital(string(g)) + ": " + v.plainShown() + "\n"
	}
	return ""
}

// gradeLine is the first line of the pull request and of the answer to /yudai why: the grade,
// and what shows it. It warns of a champion that is unproven.
func (v View) gradeLine() string {
	best, _ := v.champion()
	facts := v.gradeFacts(best.N, codeSpan(v.baseBranch()))
	grade := v.Solve.Grade(v.Runs)
	if facts == "" {
		return ""
	}
	line := "**" + capital(string(grade)) + ":** " + facts
	if grade == solve.Unproven {
		return "> [!CAUTION]\n> " + line + " Check what it does before you merge it."
	}
	return line
}

// weakensText says that a champion weakens tests, "" if it does not.
func weakensText(r solve.Run) string {
	if r.Verdict == nil || len(r.Verdict.Weakens) == 0 {
		return ""
	}
	return "It weakens or deletes " + solve.Count(len(r.Verdict.Weakens), "existing test file") + "."
}

// withheld tells of the candidate that is no champion because it is unproven, and how to
// publish it; "" if there is none.
func (v View) withheld() string {
	if v.Solve.Decision == nil || v.Solve.Decision.Withheld == 0 {
		return ""
	}
	r, _ := v.run(v.Solve.Decision.Withheld)
	text := fmt.Sprintf("**Run %d (%s) passed, but it is unproven:** %s", r.N, experimentText(r.Experiment),
		v.gradeFacts(r.N, codeSpan(v.baseBranch()))) + " " + weakensText(r)
	changes := ""
	if r.Candidate != nil {
		changes = fileList(r.Candidate.Files, 30)
	}
	return paragraphs(text, changes, fmt.Sprintf("The comment `/yudai pick %d` opens a pull request with it.", r.N))
}

// capital begins a sentence.
func capital(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}
