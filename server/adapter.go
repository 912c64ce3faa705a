package server

import (
	"context"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/solve"
)

// hub gives the solver what it reads from GitHub, in its own words.
type hub struct{ *ghapp.App }

func (h hub) Config(ctx context.Context, repo solve.Repo, sha string) (string, []byte, error) {
	return h.RepoConfig(ctx, repo, sha)
}

func (h hub) Clone(ctx context.Context, repo solve.Repo) (string, git.Auth, func(context.Context) error, error) {
	a, release, err := h.App.Clone(ctx, repo)
	if err != nil {
		return "", git.Auth{}, nil, err
	}
	return a.URL, git.Auth{User: "x-access-token", Password: a.Token.Reveal()}, release, nil
}
