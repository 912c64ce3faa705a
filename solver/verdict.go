package solver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// judge tests the candidate in a clean fork of the base: only the patch goes in.
func (w *worker) judge(ctx context.Context) error {
	if w.run.Candidate.Refused != "" {
		reason := "refused: " + w.run.Candidate.Refused
		return w.apply(ctx, solve.Judged{Verdict: solve.Verdict{Outcome: solve.Failed, Reason: reason}}, reason)
	}
	v, err := w.verdict(ctx)
	for try := 1; err != nil && !errors.Is(err, sandbox.ErrDisk) && !fault.Hopeless(err) && ctx.Err() == nil && try < w.cfg.MaxAttempts; try++ {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("candidate not judged, it is tried again")
		v, err = w.verdict(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if errors.Is(err, sandbox.ErrDisk) {
			v = solve.Verdict{Outcome: solve.Failed, Reason: "its tests used more disk than the limit"}
		} else {
			return fmt.Errorf("judge: %w", err)
		}
	}
	return w.apply(ctx, solve.Judged{Verdict: v}, v.Reason)
}

func (w *worker) verdict(ctx context.Context) (solve.Verdict, error) {
	var none solve.Verdict
	patch, err := w.Store.Artifact(ctx, w.run.Solve, w.run.Candidate.Artifact)
	if err != nil {
		return none, err
	}
	data, err := w.Store.Artifact(ctx, w.run.Solve, baseReport)
	if err != nil {
		return none, err
	}
	base, err := judge.DecodeReport(data)
	if err != nil {
		return none, err
	}
	w.discard(ctx, sandboxes.JudgeName(w.run))
	sb, err := w.fork(ctx, w.solve, w.spec(sandboxes.JudgeName(w.run), sandboxes.PhaseJudge), w.usage)
	if err != nil {
		return none, err
	}
	defer w.usage.Closed()
	defer sandboxes.Close(ctx, sb)
	began, t := time.Now(), w.settings(w.solve)
	res, err := judge.Judge(ctx, sb, judge.Input{
		Patch: patch, Changes: w.run.Candidate.Files, Base: base,
		Trial: trial(t, w.solve.Base.Test), RequireFix: t.RequireFix,
	})
	if err != nil {
		return none, err
	}
	if res.Base.Runs > base.Runs {
		if err := w.learn(ctx, res.Base); err != nil {
			return none, err
		}
	}
	v := res.Verdict
	v.Duration = time.Since(began)
	v.Log = fmt.Sprintf("run-%d-tests.log", w.run.N)
	return v, w.Store.PutArtifact(ctx, w.run.Solve, v.Log, res.Log)
}

// learn keeps what another run of the base showed, for the candidates that are
// judged later. Of two that learn at a time one is kept, which is as good.
func (w *worker) learn(ctx context.Context, base judge.Report) error {
	data, err := base.Encode()
	if err != nil {
		return err
	}
	return w.Store.PutArtifact(ctx, w.run.Solve, baseReport, data)
}
