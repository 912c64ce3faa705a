package commands

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// noteTime is how long a solve may take to note the pull request that it has opened: programs merge at once.
const noteTime = time.Minute

// endPull has the track record count what became of a pull request of ours: as GitHub has it now, because the event is a hint,
// and somebody may have undone what it reported. It counts for the solve whose champion the pull request holds.
func (c *Commands) endPull(ctx context.Context, a solve.Command) error {
	s, err := c.store.LatestSolve(ctx, a.Repo.ID, a.Issue)
	opening := errors.Is(err, solve.ErrNotFound) || err == nil && s.State == solve.StatePublishing
	if noted := a.At.Add(noteTime); opening && time.Now().Before(noted) {
		return notYet{noted}
	}
	for err == nil && s.Pull == nil && s.Follows != nil {
		s, err = c.store.Solve(ctx, s.Follows.Of)
	}
	if errors.Is(err, solve.ErrNotFound) || err == nil && (s.Pull == nil || s.Pull.Number != a.Issue) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := c.hub.Pull(ctx, a.Repo, a.Issue)
	outcome := solve.PullClosed
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return nil
	case err != nil:
		return err
	case now.Merged:
		outcome = solve.PullMerged
	case now.Open:
		outcome = solve.PullOpen
	}
	return c.store.Learn(ctx, s.ID, solve.Fate{Pull: outcome})
}
