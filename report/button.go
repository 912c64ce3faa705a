package report

import (
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// Buttons are the commands that our buttons stand for, which are their identifiers. The
// external id of their check run names the solve and the run.
func Buttons() []solve.CommandKind {
	return []solve.CommandKind{solve.CommandCancel, solve.CommandRetry, solve.CommandPick}
}

// actions are the buttons of the solve's check run.
func (v View) actions() []Action {
	s := v.Solve
	if !s.State.Final() {
		if !s.CancelAt.IsZero() {
			return nil // it is being stopped already
		}
		return []Action{{Label: "Cancel", Description: "Stop the experiments, publish nothing", Identifier: string(solve.CommandCancel)}}
	}
	var out []Action
	if s.Decision != nil && s.Decision.Withheld != 0 {
		out = append(out, Action{
			Label: "Open a pull request", Description: "Publish the patch of the best candidate", Identifier: string(solve.CommandPick),
		})
	} else if s.State != solve.StateSolved {
		return []Action{retryAction()}
	}
	if slices.ContainsFunc(v.runs(), func(r solve.Run) bool { return r.State != solve.RunPassed }) {
		out = append(out, retryAction())
	}
	if s.State == solve.StateSolved && s.Decision != nil && v.mayWin(s.Decision.RunnerUp()) {
		out = append(out, Action{
			Label: "Pick the runner-up", Description: "Put its patch on the pull request", Identifier: string(solve.CommandPick),
		})
	}
	return out
}

// runActions are the buttons of a run's own check run: an alternate can take the
// champion's place.
func (v View) runActions(n int) []Action {
	s := v.Solve
	if s.State != solve.StateSolved || s.Decision == nil || s.Decision.Champion == n || !v.mayWin(n) {
		return nil
	}
	return []Action{{Label: "Make it champion", Description: "Put this patch on the pull request", Identifier: string(solve.CommandPick)}}
}

func retryAction() Action {
	return Action{Label: "Retry", Description: "Run again what did not pass", Identifier: string(solve.CommandRetry)}
}

// mayWin says whether there is a run of that number that may become the champion.
func (v View) mayWin(n int) bool {
	r, exists := v.run(n)
	return exists && solve.Eligible(r)
}
