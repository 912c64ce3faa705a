package solver

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/crosscheck"
	"github.com/yudai-dev/yudai/solver/prepare"
)

// Signer signs the record of a decided solve, once for each decision. others are artifacts
// that belong to it beside those that the record names.
type Signer interface {
	Sign(ctx context.Context, rec solve.Record, others ...string) error
}

// sign has a decision signed before it is stored: what is stored was signed, whenever this
// process dies. A statement that cannot be made is told in the log and ends no solve; the only
// error is the end of ctx.
func (e *Engine) sign(ctx context.Context, decided solve.Solve) error {
	if e.signer == nil {
		return nil
	}
	rec, err := e.Record(ctx, decided.ID)
	if err == nil {
		rec.Solve.Decision = decided.Decision
		err = e.store.do(ctx, "statement", func(ctx context.Context) error {
			return e.signer.Sign(ctx, rec, prepare.BaseReport, crosscheck.OutcomeArtifact, crosscheck.LogArtifact)
		})
	}
	if err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("statement not signed, the solve has no bundle")
	}
	return ctx.Err()
}
