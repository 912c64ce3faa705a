package web

import (
	"fmt"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// mark is a state as a person sees it: a colour, a sign and a word.
type mark struct{ Class, Sign, Text string }

// Level is how well something is; it is the class of its colour, too.
type Level string

// The levels. The empty one is unknown.
const (
	Good   Level = "good"
	Unsure Level = "warn"
	Bad    Level = "bad"
)

// mark is a level with its sign, in a word.
func (l Level) mark(word string) mark {
	sign := map[Level]string{Good: "✓", Unsure: "~", Bad: "✕"}[l]
	if sign == "" {
		sign = "–"
	}
	return mark{string(l), sign, word}
}

// solveMark is the mark of a solve.
func solveMark(v report.View) mark {
	switch s := v.Solve; s.State {
	case solve.StateSolved, solve.StatePublishing:
		word := string(s.State)
		switch g := s.Grade(v.Runs); g {
		case solve.Unproven:
			return mark{"warn", "~", word + ", " + string(g)}
		case "":
			return mark{"good", "✓", word}
		default:
			return mark{"good", "✓", word + ", " + string(g)}
		}
	case solve.StateUnsolved, solve.StateFailed, solve.StateExpired:
		return mark{"bad", "✕", string(s.State)}
	case solve.StateCancelled:
		return mark{"", "–", string(s.State)}
	default:
		return mark{"", "◌", string(s.State)}
	}
}

// runMark is the mark of a run.
func runMark(v report.View, r solve.Run) mark {
	text := report.RunPageOf(v, r.N).State
	switch dot := runDot(r); {
	case text == "champion":
		return mark{"good", "✓", text}
	case dot == "g":
		if d := v.Solve.Decision; d != nil && solve.GradeOf(v.Runs, d.Cross, r.N) == solve.Unproven {
			return mark{"warn", "~", text}
		}
		return mark{"", "✓", text}
	case dot == "b":
		return mark{"bad", "✕", text}
	case r.State.Active():
		return mark{"", "◌", text}
	default:
		return mark{"", "–", text}
	}
}

// runDot is the class of a run's small bar: passed, failed, at work, being judged, or none of these.
func runDot(r solve.Run) string {
	switch refused := r.Candidate != nil && r.Candidate.Refused != ""; r.State {
	case solve.RunPassed:
		if refused {
			return "b"
		}
		return "g"
	case solve.RunFailed, solve.RunNoVerdict, solve.RunEmpty, solve.RunTimedOut, solve.RunLost, solve.RunError:
		return "b"
	case solve.RunHarvesting, solve.RunJudging:
		return "j"
	case solve.RunDispatched, solve.RunWorking:
		return "w"
	}
	return ""
}

// titleOf is the issue's title, which foreign people wrote.
func titleOf(s solve.Solve) string { return solve.OneLine(s.Issue.Title) }

// whereOf names the repository and the issue.
func whereOf(s solve.Solve) string { return fmt.Sprintf("%s #%d", s.Repo, s.Issue.Number) }
