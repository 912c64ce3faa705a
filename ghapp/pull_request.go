package ghapp

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// pullRequest makes the champion's commit, moves the solve's branch to it and opens the
// one pull request, with a completed check run beside it. Every step looks at
// what is there first, so a try that was cut is gone on with.
func (t *writeTry) pullRequest(ctx context.Context) (solve.Receipt, error) {
	if len(t.commit.Files) == 0 {
		return solve.Receipt{}, permanent("the champion changes nothing")
	}
	reserved, err := t.reservationSHA(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	publish := t.putOnNewPull
	if t.view.Solve.Target() != nil {
		publish = t.putOnOpenPull
	}
	pull, head, err := publish(ctx, reserved)
	if err != nil {
		return solve.Receipt{}, err
	}
	receipt := solve.Receipt{ID: pull.GetID(), SHA: head, Number: pull.GetNumber(), URL: pull.GetHTMLURL()}
	if head == reserved {
		return receipt, nil // the solve's own check run is on the champion already
	}
	if err := t.scorecard(ctx, receipt); err != nil {
		return solve.Receipt{}, err
	}
	return receipt, nil
}

// putOnNewPull puts the champion on the solve's own branch and opens the pull request.
func (t *writeTry) putOnNewPull(ctx context.Context, reserved string) (*github.PullRequest, string, error) {
	pull, err := t.findPull(ctx)
	if err != nil {
		return nil, "", err
	}
	head, err := t.putChampion(ctx, reserved, pull)
	if err != nil {
		return nil, "", err
	}
	if pull == nil {
		pull, err = t.openPull(ctx)
	}
	return pull, head, err
}

// findPull returns the pull request of the solve's branch, an open one first.
// A closed or merged one counts: a second is never opened.
func (t *writeTry) findPull(ctx context.Context) (*github.PullRequest, error) {
	repo, branch := t.e.Repo, t.view.Solve.Branch
	list, err := get(ctx, t.read, "list pull requests",
		func(ctx context.Context, c *github.Client) ([]*github.PullRequest, *github.Response, error) {
			return c.PullRequests.List(ctx, repo.Owner, repo.Name, &github.PullRequestListOptions{
				State: "all", Head: repo.Owner + ":" + branch, ListOptions: github.ListOptions{PerPage: 100},
			})
		})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p *github.PullRequest) bool { return p.GetHead().GetRef() != branch })
	if len(list) == 0 {
		return nil, nil
	}
	if i := slices.IndexFunc(list, func(p *github.PullRequest) bool { return p.GetState() == "open" }); i >= 0 {
		return list[i], nil
	}
	return list[0], nil
}

// openPull opens the pull request. GitHub allows one open pull request per
// branch; its refusal of a second leads to the first. Some plans have no drafts: then it opens one
// that is ready, with the same warning.
func (t *writeTry) openPull(ctx context.Context) (*github.PullRequest, error) {
	s := t.view.Solve
	made, err := t.createPull(ctx, s.OpensDraft(t.view.Runs))
	if statusOf(err) == http.StatusUnprocessableEntity && mentions(err, "draft pull requests are not supported") {
		made, err = t.createPull(ctx, false)
	}
	switch {
	case err == nil:
		return made, nil
	case statusOf(err) != http.StatusUnprocessableEntity:
		return nil, err
	case mentions(err, "already exists"):
		pull, lookErr := t.findPull(ctx)
		if lookErr == nil && pull == nil {
			return nil, &retryLaterError{after: t.w.cfg.ListLag, reason: "the pull request is there, but not listed yet"}
		}
		return pull, lookErr
	case mentions(err, "no commits between"):
		return nil, permanent("the champion changes nothing against %s", s.Base.Branch)
	case mentions(err, "base") && !mentions(err, "head"):
		return nil, permanent("the base branch %s is gone", s.Base.Branch)
	default:
		return nil, err
	}
}

func (t *writeTry) createPull(ctx context.Context, draft bool) (*github.PullRequest, error) {
	s, repo := t.view.Solve, t.e.Repo
	body, title := report.PullBody(t.view), report.PullTitle(t.view)
	return get(ctx, t.nonIdempotent, "open the pull request",
		func(ctx context.Context, c *github.Client) (*github.PullRequest, *github.Response, error) {
			made, resp, err := c.PullRequests.Create(ctx, repo.Owner, repo.Name, &github.NewPullRequest{
				Title: &title, Body: &body, Head: &s.Branch, Base: &s.Base.Branch, Draft: &draft,
			})
			return made, resp, complete(err, made.GetNumber() != 0, "pull request")
		})
}
