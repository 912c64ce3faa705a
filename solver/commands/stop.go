package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// relabelTime is how long a solve waits for a removed label to come back: people and programs
// remove labels and add them again.
const relabelTime = 5 * time.Second

// notYet says that a command must wait.
type notYet struct{ until time.Time }

func (n notYet) Error() string { return fmt.Sprintf("not decided before %s", n.until) }

// stop cancels the solves that an event has made pointless. It first looks on GitHub whether that
// still holds: somebody may have undone it, or have sent a copy of the event.
func (c *Commands) stop(ctx context.Context, a solve.Command) error {
	late := !time.Now().Before(a.At.Add(relabelTime))
	if a.Stop == solve.StopOnUnlabelled && !late {
		return notYet{a.At.Add(relabelTime)}
	}
	if again, err := c.labelRemovedAgain(ctx, a); again || err != nil {
		return err
	}
	live, err := c.store.LiveSolves(ctx)
	if err != nil {
		return err
	}
	live = slices.DeleteFunc(live, func(s solve.Solve) bool { return !concerns(a, s) || !s.CancelAt.IsZero() })
	if len(live) == 0 {
		return nil
	}
	still, err := c.stillConcerned(ctx, a, live)
	switch {
	case err != nil:
		return err
	case len(still) < len(live) && a.Stop != solve.StopOnClosed && !late: // GitHub's answers lag behind its events
		return notYet{a.At.Add(relabelTime)}
	case len(still) == 0:
		zerolog.Ctx(ctx).Info().Str(logkey.DeliveryID, a.ID).Str(logkey.Reason, stopReason(a)).Msg("event was undone, nothing stops")
	}
	for _, s := range still {
		if _, err := c.store.RequestCancel(ctx, s.ID, a.Actor, stopReason(a)); err != nil && !errors.Is(err, solve.ErrNotFound) {
			return err
		}
	}
	return nil
}

// labelRemovedAgain says whether the label was removed once more since. Then it was there in
// between, and the last removal counts.
func (c *Commands) labelRemovedAgain(ctx context.Context, a solve.Command) (bool, error) {
	if a.Stop != solve.StopOnUnlabelled {
		return false, nil
	}
	pending, err := c.store.Commands(ctx)
	return slices.ContainsFunc(pending, func(b solve.Command) bool {
		return b.Stop == a.Stop && b.Repo.ID == a.Repo.ID && b.Issue == a.Issue && strings.EqualFold(b.Label, a.Label) && b.At.After(a.At)
	}), err
}

// stillConcerned are the solves for which GitHub still shows what the event said. Nothing can be read of an
// installation that is gone.
func (c *Commands) stillConcerned(ctx context.Context, a solve.Command, live []solve.Solve) ([]solve.Solve, error) {
	switch {
	case a.Stop == solve.StopOnUninstalled && len(a.Repos) > 0:
		has, err := c.hub.Repos(ctx, a.Repo.Installation)
		if errors.Is(err, solve.ErrNotFound) {
			return live, nil
		}
		return slices.DeleteFunc(slices.Clone(live), func(s solve.Solve) bool {
			return slices.ContainsFunc(has, func(r solve.Repo) bool { return r.ID == s.Repo.ID })
		}), err
	case a.Stop == solve.StopOnSuspended:
		suspended, err := c.hub.Suspended(ctx, a.Repo.Installation)
		if !suspended {
			live = nil
		}
		return live, err
	}
	undone, err := c.undone(ctx, a)
	if undone {
		live = nil
	}
	return live, err
}

// undone says whether the issue differs from what the event said.
func (c *Commands) undone(ctx context.Context, a solve.Command) (bool, error) {
	switch a.Stop {
	case solve.StopOnClosed, solve.StopOnUnlabelled, solve.StopOnDeleted:
	default:
		return false, nil
	}
	issue, err := c.hub.Issue(ctx, a.Repo, a.Issue)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case a.Stop == solve.StopOnClosed:
		return issue.Open, nil
	case a.Stop == solve.StopOnUnlabelled:
		return issue.Labelled(a.Label), nil
	}
	return true, nil
}

// concerns says whether an event is about a solve.
func concerns(a solve.Command, s solve.Solve) bool {
	switch {
	case a.Repo.Installation != 0 && a.Repo.Installation != s.Repo.Installation:
		return false
	case a.Repo.ID != 0 && a.Repo.ID != s.Repo.ID:
		return false
	case len(a.Repos) > 0 && !slices.Contains(a.Repos, s.Repo.ID):
		return false
	case a.Issue != 0 && a.Issue != s.Issue.Number:
		return false
	}
	return a.Label == "" || s.Trigger.Kind == solve.TriggerLabel && strings.EqualFold(s.Trigger.Label, a.Label)
}

// stopReason is what people are told.
func stopReason(a solve.Command) string {
	by := ""
	if a.Actor != "" {
		by = " by " + a.Actor
	}
	switch {
	case a.Stop == solve.StopOnClosed:
		return "the issue was closed" + by
	case a.Stop == solve.StopOnUnlabelled:
		return "the label was removed" + by
	case a.Stop == solve.StopOnDeleted:
		return "the issue was deleted" + by
	case a.Stop == solve.StopOnTransferred:
		return "the issue was moved to another repository" + by
	case a.Stop == solve.StopOnSuspended:
		return "the App was suspended" + by
	case len(a.Repos) > 0:
		return "the repository was taken out of the App's installation" + by
	}
	return "the App was uninstalled" + by
}
