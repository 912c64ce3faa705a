package ghapp

import (
	"context"
	"net/http"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// Installations are those of the App, without the suspended ones.
func (a *App) Installations(ctx context.Context) ([]int64, error) {
	found, err := a.installations(ctx)
	var out []int64
	for _, in := range found {
		if in.SuspendedAt == nil {
			out = append(out, in.GetID())
		}
	}
	return out, err
}

func (a *App) installations(ctx context.Context) ([]*github.Installation, error) {
	return list(ctx, a.asAppDo, "list the installations",
		func(ctx context.Context, c *github.Client, opts github.ListOptions) ([]*github.Installation, *github.Response, error) {
			return c.Apps.ListInstallations(ctx, &opts)
		})
}

func (a *App) installation(ctx context.Context, id int64) (*github.Installation, error) {
	return get(ctx, a.asAppDo, "read the installation",
		func(ctx context.Context, c *github.Client) (*github.Installation, *github.Response, error) {
			return c.Apps.GetInstallation(ctx, id)
		})
}

// Suspended says whether an installation is paused by its owner. One that is gone is not.
func (a *App) Suspended(ctx context.Context, id int64) (bool, error) {
	in, err := a.installation(ctx, id)
	if statusOf(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil && in.SuspendedAt != nil, err
}

// Repos are the repositories of an installation that can be written to.
func (a *App) Repos(ctx context.Context, installation int64) ([]solve.Repo, error) {
	found, err := list(ctx, a.in(allReposScope(installation)), "list the repositories",
		func(ctx context.Context, c *github.Client, opts github.ListOptions) ([]*github.Repository, *github.Response, error) {
			answer, resp, err := c.Apps.ListRepos(ctx, &opts)
			if err != nil {
				return nil, resp, err
			}
			return answer.Repositories, resp, nil
		})
	var out []solve.Repo
	for _, r := range found {
		if !r.GetArchived() && !r.GetDisabled() {
			out = append(out, repoOf(installation, r))
		}
	}
	return out, err
}

func repoOf(installation int64, r *github.Repository) solve.Repo {
	return solve.Repo{
		Installation: installation, ID: r.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName(), DefaultBranch: r.GetDefaultBranch(),
	}
}
