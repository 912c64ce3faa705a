package server

import (
	"context"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
)

// hub gives the solver what it reads from GitHub, in its own words.
type hub struct{ app *ghapp.App }

func (h hub) Permission(ctx context.Context, repo solve.Repo, login string) (string, bool, error) {
	return h.app.Permission(ctx, repo, login)
}

func (h hub) Issue(ctx context.Context, repo solve.Repo, number int) (solve.IssueNow, error) {
	return h.app.Issue(ctx, repo, number)
}

func (h hub) Pull(ctx context.Context, repo solve.Repo, number int) (solve.PullNow, error) {
	return h.app.Pull(ctx, repo, number)
}

func (h hub) Branch(ctx context.Context, repo solve.Repo, name string) (string, error) {
	return h.app.Branch(ctx, repo, name)
}

func (h hub) Clone(ctx context.Context, repo solve.Repo) (string, git.Auth, func(context.Context) error, error) {
	a, release, err := h.app.Clone(ctx, repo)
	if err != nil {
		return "", git.Auth{}, nil, err
	}
	return a.URL, git.Auth{User: "x-access-token", Password: a.Token.Reveal()}, release, nil
}

// content gives the GitHub writer the champion's commit.
type content struct{ engine *solver.Engine }

func (c content) Champion(ctx context.Context, s solve.Solve) (ghapp.Commit, error) {
	message, changed, err := c.engine.Champion(ctx, s)
	if err != nil {
		return ghapp.Commit{}, err
	}
	out := ghapp.Commit{Message: message, BaseSHA: s.Base.SHA}
	for _, f := range changed {
		out.Files = append(out.Files, ghapp.File{Path: f.Path, Mode: f.Mode, Data: f.Data, Delete: f.Delete})
	}
	return out, nil
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
