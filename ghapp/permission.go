package ghapp

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

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
	level = cmp.Or(answer.GetRoleName(), answer.GetPermission())
	// The permission maps a custom role to the base it was built on.
	canWrite = slices.ContainsFunc([]string{answer.GetPermission(), level}, func(right string) bool {
		return right == "admin" || right == "maintain" || right == "write"
	})
	return level, canWrite, nil
}
