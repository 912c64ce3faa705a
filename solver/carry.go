package solver

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// goneText refuses what goes on from a solve that was pruned.
const goneText = "The solve to go on from is not stored any more: ask for a new one."

// goOn is the plan of a solve that goes on from an earlier one with its runs: the
// same matrix on the same commit, so that old and new verdicts can be compared.
func (e *Engine) goOn(ctx context.Context, s solve.Solve) (solve.Plan, solve.Base, error) {
	of, err := e.Store.Solve(ctx, s.Follows.Of)
	if errors.Is(err, solve.ErrNotFound) {
		return solve.Plan{}, solve.Base{}, fault.Refuse(goneText)
	}
	if err != nil {
		return solve.Plan{}, solve.Base{}, err
	}
	plan := of.Plan
	plan.Notes = []string{fmt.Sprintf("goes on from solve %s with the same experiments on the same commit", of.ID)}
	e.keepDriver(&plan, of)
	return plan, solve.Base{Branch: of.Base.Branch, SHA: of.Base.SHA}, nil
}

// keepRevised pins the driver of the solve that is revised.
func (e *Engine) keepRevised(ctx context.Context, plan *solve.Plan, s solve.Solve) error {
	of, err := e.Store.Solve(ctx, s.Follows.Of)
	if errors.Is(err, solve.ErrNotFound) {
		return fault.Refuse(goneText)
	}
	if err == nil {
		e.keepDriver(plan, of)
	}
	return err
}

// revised is the base of a revision: the head of the pull request.
func (e *Engine) revised(ctx context.Context, s solve.Solve) (solve.Base, error) {
	of, err := e.Store.Solve(ctx, s.Follows.Of)
	if errors.Is(err, solve.ErrNotFound) {
		return solve.Base{}, fault.Refuse(goneText)
	}
	if err != nil {
		return solve.Base{}, err
	}
	return solve.Base{Branch: of.Base.Branch, SHA: s.Follows.Pull.Commit}, nil
}

// newRuns are the runs of a prepared solve: one for each experiment. Those that a
// retry or a pick does not make again are carried over as they ended, with their patches.
func (e *Engine) newRuns(ctx context.Context, s solve.Solve) ([]solve.Run, error) {
	runs := make([]solve.Run, len(s.Plan.Experiments))
	for i, x := range s.Plan.Experiments {
		runs[i] = solve.Run{N: i + 1, Experiment: x}
	}
	if !s.Carries() {
		return runs, nil
	}
	old, err := e.Store.Runs(ctx, s.Follows.Of)
	if err != nil {
		return nil, err
	}
	for _, r := range old {
		if r.N > len(runs) || !r.State.Final() || r.State != solve.RunPassed && !s.Picked() {
			continue
		}
		if err := e.carryPatch(ctx, s, r); err != nil {
			return nil, err
		}
		from := r.From
		if from == nil {
			from = &solve.Origin{Solve: r.Solve, N: r.N}
		}
		r.From, r.Sandbox, r.Lease = from, "", solve.Lease{}
		runs[r.N-1] = r
	}
	return runs, nil
}

// carryPatch copies what a carried run left behind: the champion's commit is made of it.
func (e *Engine) carryPatch(ctx context.Context, s solve.Solve, r solve.Run) error {
	var names []string
	if r.Candidate != nil {
		names = append(names, r.Candidate.Artifact)
	}
	if r.Verdict != nil && r.Verdict.Log != "" {
		names = append(names, r.Verdict.Log)
	}
	for i, name := range names {
		data, err := e.Store.Artifact(ctx, s.Follows.Of, name)
		if errors.Is(err, solve.ErrNotFound) && (i > 0 || !solve.Eligible(r)) {
			continue // a log is only missed by readers
		}
		if errors.Is(err, solve.ErrNotFound) {
			return fault.Refusef("The patch of run %d is not kept any more (store.keep_logs): ask for a new solve.", r.N)
		}
		if err != nil {
			return err
		}
		if err := e.Store.PutArtifact(ctx, s.ID, name, data); err != nil {
			return err
		}
	}
	return nil
}

// prepareNothing moves a solve on that has no run to make: a person picks among
// those there are.
func (e *Engine) prepareNothing(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	of, err := e.Store.Solve(ctx, s.Follows.Of)
	if err != nil {
		return s, err
	}
	runs, err := e.newRuns(ctx, s)
	if err != nil {
		return s, err
	}
	base := of.Base
	base.Image, base.Duration, base.Stays = "", 0, nil
	s, _, err = e.apply(ctx, solve.Change{
		Solve: s.ID, Token: s.Lease.Token, Event: solve.BaseReady{Base: base, Runs: runs},
	})
	return s, err
}
