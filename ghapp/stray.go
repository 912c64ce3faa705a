package ghapp

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// Head is a branch and the commit it points to.
type Head struct{ Name, SHA string }

// Heads are the branches of a repository whose names begin with the prefix.
func (a *App) Heads(ctx context.Context, repo solve.Repo, prefix string) ([]Head, error) {
	const heads = "refs/heads/"
	list, err := all(func(opts github.ListOptions) (page []*github.Reference, resp *github.Response, err error) {
		err = a.do(ctx, patrolScope(repo.Installation), "list branches", func(ctx context.Context, c *github.Client) error {
			page, resp, err = c.Git.ListMatchingRefs(ctx, repo.Owner, repo.Name, &github.ReferenceListOptions{Ref: "heads/" + prefix, ListOptions: opts})
			return err
		})
		return page, resp, err
	})
	if statusOf(err) == http.StatusConflict && says(err, "empty") {
		return nil, nil
	}
	var out []Head
	for _, ref := range list {
		if name, ok := strings.CutPrefix(ref.GetRef(), heads+prefix); ok {
			out = append(out, Head{Name: prefix + name, SHA: ref.GetObject().GetSHA()})
		}
	}
	return out, err
}

// ClaimSince says when a commit was made as the claim of a solve; the zero time if it is
// not. A claim is a commit without changes that our bot made and that names its
// solve: whatever somebody has put on a branch is not one.
func (a *App) ClaimSince(ctx context.Context, repo solve.Repo, sha string, id solve.ID) (time.Time, error) {
	who, err := a.Identity(ctx)
	if err != nil {
		return time.Time{}, err
	}
	c, err := a.commit(ctx, repo, sha)
	if err != nil || !isClaim(c, id) || !strings.EqualFold(c.GetAuthor().GetName(), who.Bot) || len(c.Parents) != 1 {
		return time.Time{}, err
	}
	parent, err := a.commit(ctx, repo, c.Parents[0].GetSHA())
	if err != nil || parent.GetTree().GetSHA() != c.GetTree().GetSHA() {
		return time.Time{}, err
	}
	return c.GetCommitter().GetDate().Time, nil
}

func (a *App) commit(ctx context.Context, repo solve.Repo, sha string) (*github.Commit, error) {
	var commit *github.Commit
	err := a.do(ctx, patrolScope(repo.Installation), "read commit "+sha, func(ctx context.Context, c *github.Client) (err error) {
		commit, _, err = c.Git.GetCommit(ctx, repo.Owner, repo.Name, sha)
		return err
	})
	if err == nil && (commit.GetSHA() == "" || commit.GetTree().GetSHA() == "") {
		err = malformed("commit")
	}
	return commit, err
}

// RemoveStray deletes a branch that still points to where it did, in its installation's
// turn: like every visible write it counts for the hour, and what people wait for goes first.
func (w *Writer) RemoveStray(ctx context.Context, repo solve.Repo, h Head) error {
	l := w.lane(repo.Installation)
	for {
		now := w.app.now()
		wait := l.pace.ready(now, classProgress).Sub(now)
		if wait <= 0 && w.occupy(l) {
			break
		}
		if !sleep(ctx, min(max(wait, tick/10), tick)) {
			return context.Cause(ctx)
		}
	}
	defer w.leave(l)
	l.pace.take(w.app.now())
	err := w.app.do(context.WithoutCancel(ctx), writeScope(repo), "delete the stray branch "+h.Name, func(ctx context.Context, c *github.Client) error {
		ref, _, err := c.Git.GetRef(ctx, repo.Owner, repo.Name, "heads/"+h.Name)
		if err != nil || ref.GetObject().GetSHA() != h.SHA {
			return err
		}
		_, err = c.Git.DeleteRef(ctx, repo.Owner, repo.Name, "heads/"+h.Name)
		return err
	})
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}
