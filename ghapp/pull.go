package ghapp

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// pull makes the champion's commit, moves the solve's branch to it and opens the
// one pull request, with a completed check run beside it. Every step looks at
// what is there first, so a try that was cut is gone on with.
func (a *attempt) pull(ctx context.Context) (solve.Receipt, error) {
	if len(a.commit.Files) == 0 {
		return solve.Receipt{}, dead("the champion changes nothing")
	}
	claim, err := a.claimSHA(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	place := a.newPull
	if a.view.Solve.Target() != nil {
		place = a.target
	}
	pull, head, err := place(ctx, claim)
	if err != nil {
		return solve.Receipt{}, err
	}
	receipt := solve.Receipt{ID: pull.GetID(), SHA: head, Number: pull.GetNumber(), URL: pull.GetHTMLURL()}
	if head == claim {
		return receipt, nil // the solve's own check run is on the champion already
	}
	if err := a.scorecard(ctx, receipt); err != nil {
		return solve.Receipt{}, err
	}
	return receipt, nil
}

// newPull puts the champion on the solve's own branch and opens the pull request.
func (a *attempt) newPull(ctx context.Context, claim string) (*github.PullRequest, string, error) {
	pull, err := a.findPull(ctx)
	if err != nil {
		return nil, "", err
	}
	head, err := a.champion(ctx, claim, pull)
	if err != nil {
		return nil, "", err
	}
	if pull == nil {
		pull, err = a.openPull(ctx)
	}
	return pull, head, err
}

// findPull returns the pull request of the solve's branch, an open one first.
// A closed or merged one counts: a second is never opened.
func (a *attempt) findPull(ctx context.Context) (*github.PullRequest, error) {
	repo, branch := a.e.Repo, a.view.Solve.Branch
	list, err := get(ctx, a.read, "list pull requests",
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

// pullBody is the pull request's text as it is to be, with its marker.
func (a *attempt) pullBody() string {
	body := report.CutMarkdown(report.PullBody(a.view), report.MaxBody, cutNote)
	return markOf(string(a.e.Solve), a.e.Kind).on(body)
}

// openPull opens the pull request. GitHub allows one open pull request per
// branch; its refusal of a second leads to the first.
func (a *attempt) openPull(ctx context.Context) (*github.PullRequest, error) {
	s, repo := a.view.Solve, a.e.Repo
	body := a.pullBody()
	title := report.CutMarkdown(report.PullTitle(a.view), report.MaxTitle, "")
	made, err := get(ctx, a.create, "open the pull request",
		func(ctx context.Context, c *github.Client) (*github.PullRequest, *github.Response, error) {
			made, resp, err := c.PullRequests.Create(ctx, repo.Owner, repo.Name, &github.NewPullRequest{
				Title: &title, Body: &body, Head: &s.Branch, Base: &s.Base.Branch,
			})
			return made, resp, whole(err, made.GetNumber() != 0, "pull request")
		})
	switch {
	case err == nil:
		return made, nil
	case statusOf(err) != http.StatusUnprocessableEntity:
		return nil, err
	case says(err, "already exists"):
		pull, lookErr := a.findPull(ctx)
		if lookErr == nil && pull == nil {
			return nil, &againError{after: a.w.cfg.Settle, reason: "the pull request is there, but not listed yet"}
		}
		return pull, lookErr
	case says(err, "no commits between"):
		return nil, dead("the champion changes nothing against %s", s.Base.Branch)
	case says(err, "base") && !says(err, "head"):
		return nil, dead("the base branch %s is gone", s.Base.Branch)
	default:
		return nil, err
	}
}
