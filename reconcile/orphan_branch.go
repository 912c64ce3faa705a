package reconcile

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// orphanAge is how old a branch reservation must be, and how long ago its solve must have ended, before
// its branch is deleted.
const orphanAge = time.Hour

// idInName finds the solve's id in the name of a branch.
var idInName = regexp.MustCompile(`(?:^|[^0-9a-v])([0-9a-v]{20})(?:$|[^0-9a-v])`)

// removeOrphans deletes branches that a solve reserved and left behind: the store does not
// know the solve, or it ended without a pull request.
func (r *Reconciler) removeOrphans(ctx context.Context, repo solve.Repo) error {
	prefix, _, _ := strings.Cut(r.Branch, "{")
	heads, err := r.App.BranchHeads(ctx, repo, prefix)
	if err != nil {
		return err
	}
	for _, head := range heads {
		m := idInName.FindStringSubmatch(head.Name)
		if m == nil || head.Name == repo.DefaultBranch {
			continue
		}
		orphan, err := r.isOrphan(ctx, repo, head, solve.ID(m[1]))
		if err == nil && orphan {
			zerolog.Ctx(ctx).Info().Str(logkey.Repo, repo.String()).Str(logkey.SolveID, m[1]).Str(logkey.SHA, head.SHA).
				Msg("orphan branch found, deleting it")
			err = r.Writer.DeleteOrphanBranch(ctx, repo, head)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOrphan says whether a branch holds nothing but the reservation of a solve that does not need
// it any more.
func (r *Reconciler) isOrphan(ctx context.Context, repo solve.Repo, head ghapp.BranchHead, id solve.ID) (bool, error) {
	s, err := r.Store.Solve(ctx, id)
	unknown := errors.Is(err, solve.ErrNotFound)
	switch {
	case unknown:
	case err != nil:
		return false, err
	case s.Repo.ID != repo.ID, !s.State.Final(), s.State == solve.StateSolved, s.Pull != nil, s.Target() != nil,
		time.Since(s.Ended) < orphanAge:
		return false, nil
	}
	live, err := r.Store.LiveSolves(ctx)
	if err != nil || slices.ContainsFunc(live, func(s solve.Solve) bool { return s.Repo.ID == repo.ID && s.Branch == head.Name }) {
		return false, err
	}
	since, err := r.App.ReservedSince(ctx, repo, head.SHA, id)
	return err == nil && !since.IsZero() && time.Since(since) >= orphanAge, err
}
