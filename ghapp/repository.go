package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// ErrNotInstalled says that the App has no access to a repository. Its text may be shown.
var ErrNotInstalled = errors.New("the GitHub App is not installed on the repository")

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
