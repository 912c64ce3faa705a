package report

import (
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// saved is what the stop rule saved, "" if nothing.
func (v View) saved() string {
	s := solve.SavedBy(v.runs())
	var text string
	switch {
	case s.NotRun+s.Stopped == 0:
		return ""
	case s.NotRun == 0:
		text = fmt.Sprintf("%d of %s stopped early", s.Stopped, solve.Count(len(v.runs()), "experiment"))
	default:
		text = fmt.Sprintf("%d of %s not run", s.NotRun, solve.Count(len(v.runs()), "experiment"))
		if s.Stopped > 0 {
			text += fmt.Sprintf(", %d stopped early", s.Stopped)
		}
	}
	if s.Money > 0 {
		text += fmt.Sprintf(": about %s", s.Money)
	}
	return text
}

// savedSentence is what was left out as a paragraph of its own.
func (v View) savedSentence() string {
	if text := v.saved(); text != "" {
		return "Saved: " + text + "."
	}
	return ""
}

// neverStarted says whether the run did not start because it was not needed.
func (v View) neverStarted(n int) bool {
	r, _ := v.run(n)
	return r.NotNeeded && r.Attempt == 0
}
