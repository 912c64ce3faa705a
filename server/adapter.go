package server

import (
	"context"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model"
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

// modelSet gives the solver the capability table in the matrix's words.
type modelSet struct{ *model.Set }

func (m modelSet) Temperature(name string) solve.TemperatureRule {
	switch m.Set.Temperature(name) {
	case model.Ignored:
		return solve.TemperatureIgnores
	case model.Refused:
		return solve.TemperatureRefuses
	default:
		return solve.TemperatureTakes
	}
}
