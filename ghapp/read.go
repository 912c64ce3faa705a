package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// ErrNotInstalled says that the App has no access to a repository. Its text may be shown.
var ErrNotInstalled = errors.New("the GitHub App is not installed on the repository")

// Identity is who the App is.
type Identity struct {
	ID   int64
	Slug string
	// Bot is the login under which the App writes: "<slug>[bot]".
	Bot string
}

// Identity asks GitHub who the App is, once.
func (a *App) Identity(ctx context.Context) (Identity, error) {
	a.mu.Lock()
	known := a.identity
	a.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	app, err := a.registered(ctx)
	switch statusOf(err) {
	case http.StatusUnauthorized:
		return Identity{}, fmt.Errorf("the private key is not one of the App with id %d, or this machine's clock is wrong: %w", a.id, err)
	case http.StatusNotFound:
		return Identity{}, fmt.Errorf("there is no App with id %d at %s (github.app.integration_id, github.v3_api_url): %w", a.id, a.api, err)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%w (is %s the address of GitHub's API? see github.v3_api_url)", err, a.api)
	}
	if app.GetID() == 0 || app.GetSlug() == "" {
		return Identity{}, malformed("App")
	}
	id := Identity{ID: app.GetID(), Slug: app.GetSlug(), Bot: app.GetSlug() + "[bot]"}
	a.mu.Lock()
	a.identity = &id
	a.mu.Unlock()
	return id, nil
}

func (a *App) registered(ctx context.Context) (*github.App, error) {
	return get(ctx, a.asAppDo, "read the App", func(ctx context.Context, c *github.Client) (*github.App, *github.Response, error) {
		return c.Apps.Get(ctx, "")
	})
}

// Permission looks a person's rights up, now. level is GitHub's role name (admin,
// maintain, write, triage, read, none, or a custom role); canWrite is what
// decides. Bots and unknown people have none.
func (a *App) Permission(ctx context.Context, repo solve.Repo, login string) (level string, canWrite bool, err error) {
	if login == "" || strings.HasSuffix(login, "[bot]") {
		return "none", false, nil
	}
	answer, err := get(ctx, a.in(readScope(repo)), "look up rights",
		func(ctx context.Context, c *github.Client) (*github.RepositoryPermissionLevel, *github.Response, error) {
			return c.Repositories.GetPermissionLevel(ctx, repo.Owner, repo.Name, login)
		})
	if statusOf(err) == http.StatusNotFound {
		return "none", false, nil
	}
	if err != nil {
		return "", false, err
	}
	level = answer.GetRoleName()
	if level == "" {
		level = answer.GetPermission()
	}
	// The permission maps a custom role to the base it was built on.
	for _, right := range []string{answer.GetPermission(), level} {
		switch right {
		case "admin", "maintain", "write":
			canWrite = true
		}
	}
	return level, canWrite, nil
}

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

// Repo finds a repository and the installation that serves it. It is
// [ErrNotInstalled] if there is none, or a suspended one.
func (a *App) Repo(ctx context.Context, owner, name string) (solve.Repo, error) {
	in, err := get(ctx, a.asAppDo, "find the installation",
		func(ctx context.Context, c *github.Client) (*github.Installation, *github.Response, error) {
			return c.Apps.FindRepositoryInstallation(ctx, owner, name)
		})
	switch {
	case statusOf(err) == http.StatusNotFound:
		return solve.Repo{}, fmt.Errorf("find %s/%s: %w", owner, name, ErrNotInstalled)
	case err != nil:
		return solve.Repo{}, err
	case in.GetID() == 0:
		return solve.Repo{}, malformed("installation")
	case in.SuspendedAt != nil:
		return solve.Repo{}, fmt.Errorf("find %s/%s: suspended: %w", owner, name, ErrNotInstalled)
	}
	var answer *github.Repository
	s := scope{installation: in.GetID(), name: name}
	err = a.do(ctx, s, "read the repository", func(ctx context.Context, c *github.Client) (err error) {
		answer, _, err = c.Repositories.Get(ctx, owner, name)
		return err
	})
	if err != nil {
		return solve.Repo{}, err
	}
	return repoOf(in.GetID(), answer), nil
}

// Branch returns the commit a branch points to: solve.ErrNotFound if there is no
// such branch, solve.ErrNoCommit if there is no commit at all.
func (a *App) Branch(ctx context.Context, repo solve.Repo, name string) (string, error) {
	sha, err := a.ref(ctx, readScope(repo), repo, name)
	if statusOf(err) == http.StatusConflict && mentions(err, "empty") {
		return "", fmt.Errorf("read branch %s of %s: %w", name, repo, solve.ErrNoCommit)
	}
	return sha, err
}

func (a *App) ref(ctx context.Context, s scope, repo solve.Repo, branch string) (string, error) {
	ref, err := get(ctx, a.in(s), "read branch "+branch,
		func(ctx context.Context, c *github.Client) (*github.Reference, *github.Response, error) {
			return c.Git.GetRef(ctx, repo.Owner, repo.Name, "heads/"+branch)
		})
	if err != nil {
		return "", err
	}
	if ref.GetObject().GetSHA() == "" {
		return "", malformed("branch")
	}
	return ref.GetObject().GetSHA(), nil
}
