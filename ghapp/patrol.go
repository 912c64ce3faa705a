package ghapp

import (
	"context"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// patrolScope reads in all repositories of an installation: a token for each of
// them would cost as much as what is read there.
func patrolScope(installation int64) scope { return scope{installation: installation, all: true} }

// all reads every page of a list.
func all[T any](fetch func(github.ListOptions) ([]T, *github.Response, error)) ([]T, error) {
	var out []T
	opts := github.ListOptions{PerPage: perPage}
	for {
		page, resp, err := fetch(opts)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if resp.NextPage <= opts.Page {
			return out, nil
		}
		opts.Page = resp.NextPage
	}
}

// Installations are those of the App, but for the suspended ones.
func (a *App) Installations(ctx context.Context) ([]int64, error) {
	list, err := all(func(opts github.ListOptions) (page []*github.Installation, resp *github.Response, err error) {
		err = a.asAppDo(ctx, "list the installations", func(ctx context.Context, c *github.Client) error {
			page, resp, err = c.Apps.ListInstallations(ctx, &opts)
			return err
		})
		return page, resp, err
	})
	var out []int64
	for _, in := range list {
		if in.SuspendedAt == nil {
			out = append(out, in.GetID())
		}
	}
	return out, err
}

// Repos are the repositories of an installation that can be written to.
func (a *App) Repos(ctx context.Context, installation int64) ([]solve.Repo, error) {
	list, err := all(func(opts github.ListOptions) (page []*github.Repository, resp *github.Response, err error) {
		err = a.do(ctx, patrolScope(installation), "list the repositories", func(ctx context.Context, c *github.Client) error {
			var answer *github.ListRepositories
			answer, resp, err = c.Apps.ListRepos(ctx, &opts)
			if err == nil {
				page = answer.Repositories
			}
			return err
		})
		return page, resp, err
	})
	var out []solve.Repo
	for _, r := range list {
		if !r.GetArchived() && !r.GetDisabled() {
			out = append(out, solve.Repo{
				Installation: installation, ID: r.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName(), DefaultBranch: r.GetDefaultBranch(),
			})
		}
	}
	return out, err
}

// Labelled are the open issues of a repository that carry a label, without pull requests.
func (a *App) Labelled(ctx context.Context, repo solve.Repo, label string) ([]solve.Issue, error) {
	list, err := all(func(opts github.ListOptions) (page []*github.Issue, resp *github.Response, err error) {
		err = a.do(ctx, patrolScope(repo.Installation), "list labelled issues", func(ctx context.Context, c *github.Client) error {
			page, resp, err = c.Issues.ListByRepo(ctx, repo.Owner, repo.Name, &github.IssueListByRepoOptions{
				State: "open", Labels: []string{label}, Direction: "asc", ListOptions: opts,
			})
			return err
		})
		return page, resp, err
	})
	var out []solve.Issue
	for _, i := range list {
		if !i.IsPullRequest() {
			out = append(out, solve.Issue{Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody(), Author: i.GetUser().GetLogin()})
		}
	}
	return out, err
}

// LabelledBy tells which person put a label on an issue last, and when. The login
// is "" if it was a program, or if GitHub does not know any more.
func (a *App) LabelledBy(ctx context.Context, repo solve.Repo, number int, label string) (login string, at time.Time, err error) {
	list, err := all(func(opts github.ListOptions) (page []*github.IssueEvent, resp *github.Response, err error) {
		err = a.do(ctx, patrolScope(repo.Installation), "read the issue's events", func(ctx context.Context, c *github.Client) error {
			page, resp, err = c.Issues.ListIssueEvents(ctx, repo.Owner, repo.Name, number, &opts)
			return err
		})
		return page, resp, err
	})
	for _, e := range list {
		if e.GetEvent() != "labeled" || !strings.EqualFold(e.GetLabel().GetName(), label) || e.GetCreatedAt().Before(at) {
			continue
		}
		login, at = e.GetActor().GetLogin(), e.GetCreatedAt().Time
		if e.GetActor().GetType() == "Bot" || strings.HasSuffix(login, "[bot]") {
			login = ""
		}
	}
	return login, at, err
}

// Answered says whether an issue has a comment of ours from since or later.
func (a *App) Answered(ctx context.Context, repo solve.Repo, number int, since time.Time) (bool, error) {
	who, err := a.Identity(ctx)
	if err != nil {
		return false, err
	}
	since = since.UTC().Truncate(time.Second)
	list, err := all(func(opts github.ListOptions) (page []*github.IssueComment, resp *github.Response, err error) {
		err = a.do(ctx, patrolScope(repo.Installation), "list comments", func(ctx context.Context, c *github.Client) error {
			page, resp, err = c.Issues.ListComments(ctx, repo.Owner, repo.Name, number, &github.IssueListCommentsOptions{Since: &since, ListOptions: opts})
			return err
		})
		return page, resp, err
	})
	for _, c := range list {
		_, _, marked := solve.FindMarker(c.GetBody())
		if marked && strings.EqualFold(c.GetUser().GetLogin(), who.Bot) && !c.GetCreatedAt().Before(since) {
			return true, nil
		}
	}
	return false, err
}
