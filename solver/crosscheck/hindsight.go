package crosscheck

import (
	"context"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Hindsight judges the change that closed the solve's issue, a patch of its base, and runs the tests that it proves itself by on the
// candidates. It says of each run whether its candidate passes them, as far as that is known. The base must be prepared.
func (c *Checker) Hindsight(ctx context.Context, s solve.Solve, runs []solve.Run, change []byte) (map[int]bool, error) {
	base, err := c.base(ctx, s)
	if err != nil {
		return nil, err
	}
	settings, used := s.SettingsOr(c.Settings), sandboxes.NewRecorder(nil)
	changes, err := patch.Parse(change)
	if err != nil {
		return nil, err
	}
	res, err := judge.Judge(ctx, judge.Input{
		Patch: change, Changes: changes, Base: base, Trial: judge.TrialOf(settings, s.Base.Test),
		Open: func(ctx context.Context) (sandbox.Sandbox, func(), error) { return c.open(ctx, s, used) },
	})
	if err != nil {
		return nil, fmt.Errorf("judge the change that closed the issue: %w", err)
	}
	var out Outcome
	if len(res.Verdict.ProofTests) > 0 {
		author := solve.Run{Verdict: &res.Verdict, Candidate: &solve.Candidate{Artifact: "hindsight.patch"}}
		if err := c.Store.PutArtifact(ctx, s.ID, author.Candidate.Artifact, change); err != nil {
			return nil, err
		}
		out, err = c.test(ctx, s, slices.Concat(runs, []solve.Run{author}), solve.HindsightPairs(runs, settings.CrossRuns), base)
	}
	return solve.InHindsight(runs, res.Verdict, out.Results), err
}
