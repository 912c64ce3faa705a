package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// rules are what holds for a solve: the configuration, narrowed by the repository's own
// file. It is read where outsiders cannot write: at the commit that the solve starts
// from. A revision starts from what a model wrote, so there the first solve's commit counts.
func (p *Planner) rules(ctx context.Context, s solve.Solve, base solve.Base) (repoconfig.Rules, error) {
	op := p.Rules.Operator()
	if !p.Rules.ReadRepository {
		return op.Rules, nil
	}
	sha, err := p.trustedCommit(ctx, s, base)
	if err != nil {
		return op.Rules, err
	}
	name, data, err := p.Hub.Config(ctx, s.Repo, sha)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return op.Rules, nil
	case errors.Is(err, solve.ErrTooLarge):
		return op.Rules, fault.Refuse(repoconfig.Explain(name, []repoconfig.Problem{{Text: repoconfig.TooLarge}}))
	case err != nil:
		return op.Rules, fault.Outside{Err: err}
	}
	rules, problems := repoconfig.Read(name, data, op)
	if len(problems) > 0 {
		return op.Rules, fault.Refuse(repoconfig.Explain(name, problems))
	}
	return rules, nil
}

// trustedCommit is the commit whose settings hold.
func (p *Planner) trustedCommit(ctx context.Context, s solve.Solve, base solve.Base) (string, error) {
	for s.Revises() {
		of, err := p.earlier(ctx, s)
		if err != nil {
			return "", err
		}
		s, base = of, of.Base
	}
	return base.SHA, nil
}

// withProfile is the request with its profile's values where it has none.
func withProfile(r solve.Request, rules repoconfig.Rules) (solve.Request, string, error) {
	if r.Profile == "" {
		return r, "", nil
	}
	name, p, ok := rules.Profile(r.Profile)
	if !ok {
		return r, "", fault.Refuse(rules.UnknownProfile(r.Profile))
	}
	return p.Fill(r), fmt.Sprintf("profile %s is used", name), nil
}
