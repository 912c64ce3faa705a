package ghapp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// Issue reads an issue as it is now.
func (a *App) Issue(ctx context.Context, repo solve.Repo, number int) (solve.IssueNow, error) {
	answer, err := get(ctx, a.in(readScope(repo)), "read the issue",
		func(ctx context.Context, c *github.Client) (*github.Issue, *github.Response, error) {
			return c.Issues.Get(ctx, repo.Owner, repo.Name, number)
		})
	if err != nil {
		return solve.IssueNow{}, err
	}
	if answer.GetNumber() != number { // moved to another repository, and the redirect followed
		return solve.IssueNow{}, fmt.Errorf("read issue %s#%d: moved away: %w", repo, number, solve.ErrNotFound)
	}
	now := solve.IssueNow{
		Issue: solve.Issue{
			Number: number,
			Title:  answer.GetTitle(),
			Body:   answer.GetBody(),
			Author: answer.GetUser().GetLogin(),
		},
		Open:   answer.GetState() == "open",
		Pull:   answer.IsPullRequest(),
		Locked: answer.GetLocked(),
	}
	for _, l := range answer.Labels {
		now.Labels = append(now.Labels, l.GetName())
	}
	for _, u := range answer.Assignees {
		now.Assignees = append(now.Assignees, u.GetLogin())
	}
	return now, nil
}

// Pull reads a pull request as it is now.
func (a *App) Pull(ctx context.Context, repo solve.Repo, number int) (solve.PullNow, error) {
	answer, err := readPull(ctx, a.in(readScope(repo)), repo, number)
	if err != nil {
		return solve.PullNow{}, err
	}
	head := answer.GetHead()
	return solve.PullNow{
		Number: number,
		Open:   answer.GetState() == "open",
		Merged: answer.GetMerged(),
		Fork:   head.GetRepo().GetID() != repo.ID,
		Branch: head.GetRef(),
		SHA:    head.GetSHA(),
		Base:   answer.GetBase().GetRef(),
		Commit: answer.GetMergeCommitSHA(),
	}, nil
}

func readPull(ctx context.Context, call caller, repo solve.Repo, number int) (*github.PullRequest, error) {
	pull, err := get(ctx, call, "read the pull request",
		func(ctx context.Context, c *github.Client) (*github.PullRequest, *github.Response, error) {
			return c.PullRequests.Get(ctx, repo.Owner, repo.Name, number)
		})
	if err == nil && (pull.GetNumber() != number || pull.GetHead().GetSHA() == "") {
		err = malformed("pull request")
	}
	return pull, err
}

// CommentGone says whether a comment is not there any more.
func (a *App) CommentGone(ctx context.Context, repo solve.Repo, id int64) (bool, error) {
	err := a.do(ctx, readScope(repo), "read a comment", func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Issues.GetComment(ctx, repo.Owner, repo.Name, id)
		return err
	})
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusGone {
		return true, nil
	}
	return false, err
}

// Answered says whether an issue has a comment of ours from since or later.
func (a *App) Answered(ctx context.Context, repo solve.Repo, number int, since time.Time) (bool, error) {
	who, err := a.Identity(ctx)
	if err != nil {
		return false, err
	}
	since = since.UTC().Truncate(time.Second)
	found, err := list(ctx, a.in(allReposScope(repo.Installation)), "list comments",
		func(ctx context.Context, c *github.Client, opts github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
			return c.Issues.ListComments(ctx, repo.Owner, repo.Name, number, &github.IssueListCommentsOptions{Since: &since, ListOptions: opts})
		})
	for _, c := range found {
		_, _, marked := solve.FindMarker(c.GetBody())
		if marked && strings.EqualFold(c.GetUser().GetLogin(), who.Bot) && !c.GetCreatedAt().Before(since) {
			return true, nil
		}
	}
	return false, err
}

// CommentDigest is [solve.Digest] of a comment as it is now; solve.ErrNotFound if it is gone.
func (a *App) CommentDigest(ctx context.Context, repo solve.Repo, id int64) (string, error) {
	answer, err := get(ctx, a.in(readScope(repo)), "read the comment",
		func(ctx context.Context, c *github.Client) (*github.IssueComment, *github.Response, error) {
			return c.Issues.GetComment(ctx, repo.Owner, repo.Name, id)
		})
	if err != nil {
		return "", err
	}
	return solve.Digest(answer.GetBody()), nil
}
