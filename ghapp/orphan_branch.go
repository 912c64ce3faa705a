package ghapp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/solve"
)

// BranchHeads are the branches of a repository whose names begin with the prefix.
func (a *App) BranchHeads(ctx context.Context, repo solve.Repo, prefix string) ([]BranchHead, error) {
	const heads = "refs/heads/"
	refs, err := list(ctx, a.in(allReposScope(repo.Installation)), "list branches",
		func(ctx context.Context, c *github.Client, opts github.ListOptions) ([]*github.Reference, *github.Response, error) {
			return c.Git.ListMatchingRefs(ctx, repo.Owner, repo.Name, &github.ReferenceListOptions{Ref: "heads/" + prefix, ListOptions: opts})
		})
	if statusOf(err) == http.StatusConflict && mentions(err, "empty") {
		return nil, nil
	}
	var out []BranchHead
	for _, ref := range refs {
		if name, ok := strings.CutPrefix(ref.GetRef(), heads+prefix); ok {
			out = append(out, BranchHead{Name: prefix + name, SHA: ref.GetObject().GetSHA()})
		}
	}
	return out, err
}

// ReservedSince says when a commit was made as the branch reservation of a solve; the zero time
// if it is not one. A reservation is a commit without changes that our bot made and that names
// its solve. What somebody has put on a branch is none.
func (a *App) ReservedSince(ctx context.Context, repo solve.Repo, sha string, id solve.ID) (time.Time, error) {
	who, err := a.Identity(ctx)
	if err != nil {
		return time.Time{}, err
	}
	reader := a.in(allReposScope(repo.Installation))
	c, err := readCommit(ctx, reader, repo, sha)
	if err != nil || !isReservation(c, id) || !strings.EqualFold(c.GetAuthor().GetName(), who.Bot) || len(c.Parents) != 1 {
		return time.Time{}, err
	}
	parent, err := readCommit(ctx, reader, repo, c.Parents[0].GetSHA())
	if err != nil || parent.GetTree().GetSHA() != c.GetTree().GetSHA() {
		return time.Time{}, err
	}
	return c.GetCommitter().GetDate().Time, nil
}

// DeleteOrphanBranch deletes a branch that still points to where it did, in its installation's
// turn: like every visible write it counts for the hour, and what people wait for goes first.
func (w *Writer) DeleteOrphanBranch(ctx context.Context, repo solve.Repo, h BranchHead) error {
	q := w.queue(repo.Installation)
	for {
		now := w.app.now()
		wait := q.limiter.earliest(now, classProgress).Sub(now)
		if wait <= 0 && q.writing.TryLock() {
			break
		}
		if err := clock.Sleep(ctx, min(max(wait, tick/10), tick)); err != nil {
			return err
		}
	}
	defer q.writing.Unlock()
	q.limiter.count(w.app.now())
	err := w.app.do(context.WithoutCancel(ctx), writeScope(repo), "delete the orphan branch "+h.Name,
		func(ctx context.Context, c *github.Client) error { return deleteHead(ctx, c, repo, h) })
	if statusOf(err) == http.StatusNotFound || errors.As(err, new(*branchMovedError)) {
		return nil
	}
	return err
}
