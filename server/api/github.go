package api

import (
	"context"
	"errors"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/solve"
)

// AppReader is the [GitHubReader] that asks GitHub.
type AppReader struct{ App *ghapp.App }

// Repo implements [GitHubReader].
func (r AppReader) Repo(ctx context.Context, owner, name string) (solve.Repo, error) {
	repo, err := r.App.Repo(ctx, owner, name)
	if errors.Is(err, ghapp.ErrNotInstalled) {
		return solve.Repo{}, Refusal(ghapp.ErrNotInstalled.Error())
	}
	return repo, err
}

// Issue implements [GitHubReader].
func (r AppReader) Issue(ctx context.Context, repo solve.Repo, number int) (solve.Issue, error) {
	issue, err := r.App.Issue(ctx, repo, number)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return solve.Issue{}, Refusal("there is no such issue")
	case err != nil:
		return solve.Issue{}, err
	case issue.Pull:
		return solve.Issue{}, Refusal("is a pull request, not an issue")
	case !issue.Open:
		return solve.Issue{}, Refusal("is closed; reopen it first")
	}
	return issue.Issue, nil
}
