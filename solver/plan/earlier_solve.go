package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// earlier is the solve that this one goes on from.
func (p *Planner) earlier(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	of, err := p.Store.Solve(ctx, s.Follows.Of)
	if errors.Is(err, solve.ErrNotFound) {
		return of, fault.Refuse("The solve to go on from is not stored any more: ask for a new one.")
	}
	return of, err
}

// earlierPlan is the plan of a solve that goes on from an earlier one with its runs: the
// same matrix on the same commit, so that old and new verdicts can be compared.
func (p *Planner) earlierPlan(ctx context.Context, s solve.Solve) (solve.Plan, solve.Base, error) {
	of, err := p.earlier(ctx, s)
	if err != nil {
		return solve.Plan{}, solve.Base{}, err
	}
	plan := of.Plan
	plan.Notes = []string{fmt.Sprintf("goes on from solve %s with the same experiments on the same commit", of.ID)}
	p.keepDriver(&plan, of)
	return plan, solve.Base{Branch: of.Base.Branch, SHA: of.Base.SHA}, nil
}

// EarlierBase is the base of a solve that picks among the runs of an earlier one. It copies the report of the base's
// tests, the artifact with that name, which a bundle judges by again.
func (p *Planner) EarlierBase(ctx context.Context, s solve.Solve, report string) (solve.Base, error) {
	of, err := p.earlier(ctx, s)
	if err == nil {
		err = p.copyArtifact(ctx, s, report)
	}
	if errors.Is(err, solve.ErrNotFound) {
		err = nil // a report that was pruned
	}
	base := of.Base
	base.Image, base.Duration, base.SandboxUses = "", 0, nil
	return base, err
}

// keepRevised pins the driver of the solve that is revised.
func (p *Planner) keepRevised(ctx context.Context, plan *solve.Plan, s solve.Solve) error {
	of, err := p.earlier(ctx, s)
	if err == nil {
		p.keepDriver(plan, of)
	}
	return err
}

// revised is the base of a revision: the head of the pull request.
func (p *Planner) revised(ctx context.Context, s solve.Solve) (solve.Base, error) {
	of, err := p.earlier(ctx, s)
	return solve.Base{Branch: of.Base.Branch, SHA: s.Follows.Pull.Commit}, err
}

// keepDriver pins the earlier solve's driver, if it is still there.
func (p *Planner) keepDriver(plan *solve.Plan, of solve.Solve) {
	was := of.Plan.Sandbox
	if _, ok := p.Drivers.Of(was); ok {
		plan.Sandbox = cmp.Or(was, p.Drivers.Names()[0])
		return
	}
	plan.Sandbox = p.Drivers.Names()[0]
	plan.Notes = append(plan.Notes, fmt.Sprintf(
		"the sandbox driver %s of the earlier solve is not configured any more: %s is used", was, plan.Sandbox))
}
