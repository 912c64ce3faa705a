package ghapp

import (
	"context"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// Labelled are the open issues of a repository that carry a label, without pull requests.
func (a *App) Labelled(ctx context.Context, repo solve.Repo, label string) ([]solve.Issue, error) {
	found, err := list(ctx, a.in(allReposScope(repo.Installation)), "list labelled issues",
		func(ctx context.Context, c *github.Client, opts github.ListOptions) ([]*github.Issue, *github.Response, error) {
			return c.Issues.ListByRepo(ctx, repo.Owner, repo.Name, &github.IssueListByRepoOptions{
				State: "open", Labels: []string{label}, Direction: "asc", ListOptions: opts,
			})
		})
	var out []solve.Issue
	for _, i := range found {
		if !i.IsPullRequest() {
			out = append(out, solve.Issue{Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody(), Author: i.GetUser().GetLogin()})
		}
	}
	return out, err
}

// LabelledBy tells which person put a label on an issue last, and when. The login
// is "" if it was a program, or if GitHub does not know any more.
func (a *App) LabelledBy(ctx context.Context, repo solve.Repo, number int, label string) (login string, at time.Time, err error) {
	found, err := list(ctx, a.in(allReposScope(repo.Installation)), "read the issue's events",
		func(ctx context.Context, c *github.Client, opts github.ListOptions) ([]*github.IssueEvent, *github.Response, error) {
			return c.Issues.ListIssueEvents(ctx, repo.Owner, repo.Name, number, &opts)
		})
	for _, e := range found {
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
