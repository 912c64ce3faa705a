package solver

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// stop cancels what an event has left nothing to solve of.
func (e *Engine) stop(ctx context.Context, a solve.Ask) error {
	live, err := e.Store.LiveSolves(ctx)
	if err != nil {
		return err
	}
	for _, s := range live {
		if !concerns(a, s) {
			continue
		}
		if _, err := e.Store.AskCancel(ctx, s.ID, a.Actor, stopReason(a), time.Now()); err != nil && !errors.Is(err, solve.ErrNotFound) {
			return err
		}
	}
	return nil
}

// concerns says whether an event is about a solve.
func concerns(a solve.Ask, s solve.Solve) bool {
	switch {
	case a.Repo.Installation != 0 && a.Repo.Installation != s.Repo.Installation:
		return false
	case a.Repo.ID != 0 && a.Repo.ID != s.Repo.ID:
		return false
	case a.Issue != 0 && a.Issue != s.Issue.Number:
		return false
	}
	return a.Label == "" || s.Trigger.Kind == solve.TriggerLabel && s.Trigger.Label == a.Label
}

// stopReason tells people what happened.
func stopReason(a solve.Ask) string {
	by := ""
	if a.Actor != "" {
		by = " by " + a.Actor
	}
	switch a.Stop {
	case solve.StopClosed:
		return "the issue was closed" + by
	case solve.StopUnlabelled:
		return "the label was removed" + by
	case solve.StopDeleted:
		return "the issue was deleted" + by
	case solve.StopTransferred:
		return "the issue was moved to another repository" + by
	case solve.StopSuspended:
		return "the App was suspended" + by
	default:
		return "the App was uninstalled" + by
	}
}
