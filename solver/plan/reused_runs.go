package plan

import (
	"context"
	"errors"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// Runs are the runs of a solve whose base is prepared: one for each experiment, and the reproducer's. Those that a
// retry or a pick does not make again are carried over as they ended, with their patches.
func (p *Planner) Runs(ctx context.Context, s solve.Solve) ([]solve.Run, error) {
	runs := make([]solve.Run, len(s.Plan.Experiments))
	for i, x := range s.Plan.Experiments {
		runs[i] = solve.Run{N: i + 1, Experiment: x}
	}
	if s.WantsReproducer() {
		runs = append(runs, solve.Run{N: len(runs) + 1, Experiment: *s.Plan.Reproducer})
	}
	if !s.Carries() {
		return runs, nil
	}
	old, err := p.Store.Runs(ctx, s.Follows.Of)
	if err != nil {
		return nil, err
	}
	for _, r := range old {
		if r.N > len(runs) || !r.State.Final() || r.State != solve.RunPassed && !s.Picked() {
			continue
		}
		if err := p.copyArtifacts(ctx, s, r); err != nil {
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

// copyArtifacts copies what a reused run left behind: the champion's commit is made of it, and a bundle judges by it again.
func (p *Planner) copyArtifacts(ctx context.Context, s solve.Solve, r solve.Run) error {
	var names []string
	if r.Candidate != nil {
		names = append(names, r.Candidate.Artifact)
	}
	if r.Verdict != nil {
		names = append(names, r.Verdict.Log, r.Verdict.Results)
	}
	for i, name := range names {
		if name == "" { // a patch that is too large is not stored
			continue
		}
		err := p.copyArtifact(ctx, s, name)
		if errors.Is(err, solve.ErrNotFound) && (i > 0 || r.State != solve.RunPassed) {
			continue // a log is only missed by readers
		}
		if errors.Is(err, solve.ErrNotFound) {
			return fault.Refusef("The patch of run %d is not kept any more (store.keep_logs): ask for a new solve.", r.N)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Planner) copyArtifact(ctx context.Context, s solve.Solve, name string) error {
	data, err := p.Store.Artifact(ctx, s.Follows.Of, name)
	if err != nil {
		return err
	}
	return p.Store.PutArtifact(ctx, s.ID, name, data)
}
