// Package report writes every text about a solve that people read: comments, check runs,
// the pull request, the scorecard, the output of the console. All of them are made from a [View].
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// View is what texts are made from: a solve and its runs as they stand.
type View struct {
	Solve solve.Solve
	Runs  []solve.Run
	// Checks is the address of the solve's check run, which outlasts the branch that
	// its commit is on; "" where it is not known. It is GitHub's own.
	Checks string
	// Now is the present; zero where no text needs it.
	Now time.Time
}

// Check is the content of a check run.
type Check struct {
	Name       string
	Status     string // queued, in_progress, completed
	Conclusion string // "" unless completed: success, neutral, cancelled
	Title      string
	Summary    string // Markdown
	Text       string // Markdown
	Actions    []Action
}

// Action is a button of a check run; GitHub takes three at most. Label has 20
// characters at most, Description 40, Identifier 20.
type Action struct{ Label, Description, Identifier string }

// runs are the runs in the order of their numbers, without the reproducer's.
func (v View) runs() []solve.Run {
	return slices.SortedFunc(slices.Values(solve.Candidates(v.Runs)), func(a, b solve.Run) int { return cmp.Compare(a.N, b.N) })
}

// run is the run of that number. One that was planned and not created yet is queued.
func (v View) run(n int) (solve.Run, bool) {
	for _, r := range v.Runs {
		if r.N == n {
			return r, true
		}
	}
	if n >= 1 && n <= len(v.Solve.Plan.Experiments) {
		return solve.Run{Solve: v.Solve.ID, N: n, Experiment: v.Solve.Plan.Experiments[n-1], State: solve.RunQueued}, false
	}
	return solve.Run{N: n, State: solve.RunQueued}, false
}

// champion is the run that won, if there is one.
func (v View) champion() (solve.Run, bool) {
	if v.Solve.Decision == nil || v.Solve.Decision.Champion == 0 {
		return solve.Run{}, false
	}
	return v.run(v.Solve.Decision.Champion)
}

// sandboxCost is what the sandboxes have cost so far, of the base and of all own runs.
func (v View) sandboxCost() solve.Money { return solve.SandboxCost(v.Solve, v.Runs) }

// andSandboxes adds what the sandboxes have cost to a sentence about model costs; where
// they cost nothing there is nothing to say.
func (v View) andSandboxes() string {
	if cost := v.sandboxCost(); cost > 0 {
		return fmt.Sprintf(", and %s for sandboxes", cost)
	}
	return ""
}

// tally counts the runs: waiting, at work, ended.
func (v View) tally() (waiting, working, ended int) {
	for _, r := range v.runs() {
		switch {
		case r.State.Final():
			ended++
		case r.State.Active():
			working++
		default:
			waiting++
		}
	}
	return waiting, working, ended
}

// headline says in one sentence where the solve stands. It is plain text that
// is also safe Markdown, but for the reason, which the caller adds.
func (v View) headline() string {
	waiting, working, ended := v.tally()
	switch s := v.Solve; {
	case s.Trigger.Kind == solve.TriggerLocal && s.State == solve.StateSolved:
		return v.graded("Solved") + ": the champion is on a branch of its own."
	case s.Trigger.Kind == solve.TriggerLocal && s.State == solve.StateUnsolved:
		return "Not solved: " + v.noChampion() + ", so there is no branch."
	}
	switch s := v.Solve; s.State {
	case solve.StateQueued:
		return queueText(v.Solve)
	case solve.StatePreparing:
		return "Preparing the repository: clone, install, run its tests once."
	case solve.StateRunning:
		what := solve.Count(len(v.runs()), "experiment")
		if v.severalWaves() {
			what += fmt.Sprintf(", wave %d of %d", v.Solve.Wave, v.Solve.Plan.Waves())
		}
		return fmt.Sprintf("Running %s: %d ended, %d at work, %d waiting.", what, ended, working, waiting)
	case solve.StateReducing:
		return "All experiments ended; choosing the champion."
	case solve.StatePublishing:
		return "The champion is chosen; opening the pull request."
	case solve.StateSolved:
		return v.graded("Solved") + ": the champion's pull request is open."
	case solve.StateUnsolved:
		if t := v.Solve.Target(); t != nil {
			return fmt.Sprintf("Not solved: %s, so #%d is unchanged.", v.noChampion(), t.Number)
		}
		return "Not solved: " + v.noChampion() + ", so there is no pull request."
	case solve.StateCancelled:
		return "Cancelled: nothing was published."
	case solve.StateExpired:
		return "Out of time: the time budget ended before there was a champion."
	default:
		return "Failed: yudai could not finish this solve."
	}
}

// noChampion says in a clause why there is none.
func (v View) noChampion() string {
	if v.Solve.Decision != nil && v.Solve.Decision.Withheld != 0 {
		return "the best candidate is unproven"
	}
	return "no candidate passed"
}

// reason is the solve's own reason as safe Markdown, "" if it has none.
func (v View) reason() string {
	switch s := v.Solve; {
	case s.State == solve.StateCancelled && s.CancelWhy != "":
		return "Stopped: " + sentence(Sanitize(solve.Clip(s.CancelWhy, 300)))
	case s.State == solve.StateCancelled && s.CancelBy != "":
		return "Stopped by " + codeSpan(s.CancelBy) + "."
	case s.State.Final() && s.State != solve.StateSolved && s.Reason != "":
		return sentence(Sanitize(solve.Clip(strings.ReplaceAll(s.Reason, "\n", "; "), 500)))
	default:
		return ""
	}
}

// RefusalText answers a request that was refused, with the solve's reason.
func RefusalText(v View) string { return reasons(v.Solve.Reason) }

// reasons is a solve's reason as a text of its own: safe Markdown, a list where it has
// several lines. A first line that ends with a colon stands above the list.
func reasons(reason string) string {
	var lines []string
	if first, rest, several := strings.Cut(reason, "\n"); several && strings.HasSuffix(first, ":") {
		return Sanitize(solve.Clip(first, 500)) + "\n\n- " + strings.TrimPrefix(reasons(rest), "- ")
	}
	for line := range strings.Lines(reason) {
		if line = Sanitize(solve.Clip(line, 500)); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) < 2 {
		return strings.Join(lines, "")
	}
	return "- " + strings.Join(lines[:min(len(lines), 20)], "\n- ")
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "…") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// ordinal is a place as people say it: 1st, 2nd, 11th.
func ordinal(n int) string {
	suffix := "th"
	if n%100/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

// queueText is the place of a waiting solve in the queue.
func queueText(s solve.Solve) string {
	if s.Place == 0 {
		return "Waiting in the queue."
	}
	return fmt.Sprintf("Waiting in the queue: %s of %d.", ordinal(s.Place), max(s.Place, s.Queue))
}
