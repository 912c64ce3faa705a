package attempt

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// judge tests the candidate in a clean fork of the base: only the patch goes in.
func (a *Attempt) judge(ctx context.Context) error {
	if a.run.Candidate.Refused != "" {
		reason := "refused: " + a.run.Candidate.Refused
		return a.apply(ctx, solve.Judged{Verdict: solve.Verdict{Outcome: solve.Failed, Reason: reason}}, reason)
	}
	v, err := a.verdict(ctx)
	again := func() bool {
		return err != nil && !errors.Is(err, sandbox.ErrDisk) && !fault.Hopeless(err) && ctx.Err() == nil
	}
	for try := 1; again() && try < a.with.MaxAttempts; try++ {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("candidate not judged, it is tried again")
		v, err = a.verdict(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, sandbox.ErrDisk) {
		v, err = solve.Verdict{Outcome: solve.Failed, Reason: "its tests used more disk than the limit"}, nil
	}
	if err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return a.apply(ctx, solve.Judged{Verdict: v}, v.Reason)
}

func (a *Attempt) verdict(ctx context.Context) (solve.Verdict, error) {
	var none solve.Verdict
	patch, err := a.with.Store.Artifact(ctx, a.run.Solve, a.run.Candidate.Artifact)
	if err != nil {
		return none, err
	}
	data, err := a.with.Store.Artifact(ctx, a.run.Solve, prepare.BaseReport)
	if err != nil {
		return none, err
	}
	base, err := judge.DecodeReport(data)
	if err != nil {
		return none, err
	}
	decide := judge.Judge
	if a.run.Reproduces() {
		decide = judge.Reproduce
	}
	res, err := decide(ctx, judge.Input{
		Patch: patch, Changes: a.run.Candidate.Files, Base: base, Open: a.openToJudge,
		Trial: judge.TrialOf(a.settings(), a.solve.Base.Test),
	})
	if err != nil {
		return none, err
	}
	if res.Base.Runs > base.Runs {
		if err := a.updateBaseReport(ctx, res.Base); err != nil {
			return none, err
		}
	}
	v := res.Verdict
	v.Log = fmt.Sprintf("run-%d-tests.log", a.run.N)
	if err := a.with.Store.PutArtifact(ctx, a.run.Solve, v.Log, res.Log); err != nil {
		return none, err
	}
	results, err := res.Results.Encode()
	if err != nil || results == nil {
		return v, err
	}
	v.Results = fmt.Sprintf("run-%d-results.json", a.run.N)
	return v, a.with.Store.PutArtifact(ctx, a.run.Solve, v.Results, results)
}

// openToJudge opens a clean copy of the base. All that a verdict opens have one name, one after
// the other: so whoever goes on for an owner that died finds the one that it left.
func (a *Attempt) openToJudge(ctx context.Context) (sandbox.Sandbox, func(), error) {
	name := sandboxes.JudgeName(a.run)
	a.discard(ctx, name)
	sb, err := a.with.Bases.Open(ctx, a.solve, a.spec(name, sandboxes.PhaseJudge), a.usage)
	if err != nil {
		return nil, nil, err
	}
	return sb, func() {
		sandboxes.Close(ctx, sb)
		a.usage.Closed()
	}, nil
}

// updateBaseReport keeps what another run of the base showed, for the candidates that are
// judged later. Of two that learn at a time one is kept, which is as good.
func (a *Attempt) updateBaseReport(ctx context.Context, base judge.Report) error {
	data, err := base.Encode()
	if err != nil {
		return err
	}
	return a.with.Store.PutArtifact(ctx, a.run.Solve, prepare.BaseReport, data)
}
