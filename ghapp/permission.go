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
	answer, err := a.permission(ctx, repo, login)
	if err != nil {
		return "", false, err
	}
	level, canWrite = levelOf(answer)
	return level, canWrite, nil
}

// Access looks up, now, what a person may do in a repository. Names change hands: somebody else who has the
// name by now may do nothing.
func (a *App) Access(ctx context.Context, repo solve.Repo, who solve.Person) (solve.Access, error) {
	answer, err := a.permission(ctx, repo, who.Login)
	if err != nil || answer.GetUser().GetID() != who.ID {
		return solve.Access{}, err
	}
	level, writes := levelOf(answer)
	return solve.Access{Reads: level != "none", Writes: writes}, nil
}

// permission asks for a person's rights; nil is none.
func (a *App) permission(ctx context.Context, repo solve.Repo, login string) (*github.RepositoryPermissionLevel, error) {
	if login == "" || strings.HasSuffix(login, "[bot]") {
		return nil, nil
	}
	answer, err := get(ctx, a.in(readScope(repo)), "look up rights",
		func(ctx context.Context, c *github.Client) (*github.RepositoryPermissionLevel, *github.Response, error) {
			return c.Repositories.GetPermissionLevel(ctx, repo.Owner, repo.Name, login)
		})
	if statusOf(err) == http.StatusNotFound {
		return nil, nil
	}
	return answer, err
}

// levelOf is the role that an answer tells, and whether it may write.
func levelOf(answer *github.RepositoryPermissionLevel) (level string, writes bool) {
	level = cmp.Or(answer.GetRoleName(), answer.GetPermission(), "none")
	// The permission maps a custom role to the base it was built on.
	writes = slices.ContainsFunc([]string{answer.GetPermission(), level}, func(right string) bool {
		return right == "admin" || right == "maintain" || right == "write"
	})
	return level, writes
}
