package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// latency is how long a run's agent worked, of one at work so far; "" where that is open.
func (v View) latency(r solve.Run) string {
	switch {
	case r.AgentTime > 0, r.State.Final():
		return solve.FormatDuration(r.AgentTime)
	case r.State.Active() && !r.Started.IsZero():
		return v.since(r.Started)
	}
	return ""
}

// since is how long ago something was, "" where nobody says what time it is.
func (v View) since(at time.Time) string {
	if v.Now.IsZero() {
		return ""
	}
	return solve.FormatDuration(max(v.Now.Sub(at), time.Second).Truncate(time.Second))
}

// Steps is how many steps a run took, and of how many while it works: "9 of 50".
func Steps(s solve.Solve, r solve.Run) string {
	if most := s.Plan.Limits.RunSteps; most > 0 && r.State.Active() {
		return fmt.Sprintf("%d of %d", r.Progress.Steps, most)
	}
	return fmt.Sprint(r.Progress.Steps)
}

// waits says what a run waits for, "" if it does not. The text is unsafe.
func waits(r solve.Run) string {
	switch {
	case r.State == solve.RunDispatched:
		return "its sandbox"
	case r.State == solve.RunWorking && r.Progress.Waiting != "":
		return "its model server (" + solve.Clip(solve.OneLine(r.Progress.Waiting), 400) + ")"
	}
	return ""
}

// Doing is what a run at work waits for, else the last thing that its agent did, as plain, unsafe text; "" where there is neither.
func Doing(r solve.Run) string {
	if what := waits(r); what != "" {
		return "waits for " + what
	}
	if r.State != solve.RunWorking {
		return ""
	}
	return solve.Clip(solve.OneLine(r.Progress.Last), solve.MaxAction)
}

// atWork is a list of the runs at work, with what each does, and how many wait for a place; "" where there are none.
func (v View) atWork() string {
	var b strings.Builder
	queued := 0
	for _, r := range v.Runs {
		switch {
		case r.State == solve.RunQueued && r.Experiment.Wave <= v.Solve.Wave:
			queued++
		case r.State.Active():
			fmt.Fprintf(&b, "- Run %d, %s, step %s", r.N, r.Words(), Steps(v.Solve, r))
			if what := waits(r); what != "" {
				b.WriteString(". It waits for " + Sanitize(what))
			} else if last := Doing(r); last != "" {
				b.WriteString(". Last action: " + codeSpan(last))
			}
			b.WriteString("\n")
		}
	}
	if queued > 0 {
		fmt.Fprintf(&b, "- Waiting for a place: %s\n", solve.Count(queued, "run"))
	}
	return b.String()
}

// asOf says when a text about a live solve was true, "" where nobody says what time it is.
func (v View) asOf() string {
	s := v.Solve
	if v.Now.IsZero() || s.State.Final() || s.Started.IsZero() {
		return ""
	}
	return fmt.Sprintf("As of %s, %s after the start.", v.Now.UTC().Format("15:04:05 UTC"), v.since(s.Started))
}
