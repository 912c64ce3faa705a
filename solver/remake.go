package solver

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// fork opens a sandbox on the solve's base. A base that is gone is made again:
// the store was restored on another machine, or somebody emptied the sandboxes'
// directory.
func (e *Engine) fork(ctx context.Context, s solve.Solve, spec sandbox.Spec) (sandbox.Sandbox, error) {
	sb, err := e.Driver.Open(ctx, spec)
	if !errors.Is(err, sandbox.ErrGone) {
		return sb, err
	}
	select {
	case e.remaking <- struct{}{}:
		defer func() { <-e.remaking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	sb, err = e.Driver.Open(ctx, spec) // another run may have made it meanwhile
	if !errors.Is(err, sandbox.ErrGone) {
		return sb, err
	}
	zerolog.Ctx(ctx).Warn().Err(err).Msg("base is gone, it is made again")
	if err := e.remake(ctx, s); err != nil {
		return nil, fmt.Errorf("make the base again: %w", err)
	}
	return e.Driver.Open(ctx, spec)
}

// remake prepares the base as it was prepared for the solve: same commit, same commands.
func (e *Engine) remake(ctx context.Context, s solve.Solve) error {
	forker, ok := e.Driver.(sandbox.Forker)
	if !ok {
		return fmt.Errorf("sandbox driver %s cannot fork a prepared base", e.Driver.Traits().Name)
	}
	mirror, err := e.clone(ctx, s)
	if err != nil {
		return err
	}
	setup, err := e.setup(ctx, mirror, s)
	if err != nil {
		return err
	}
	setup.Install, setup.Test = s.Base.Install, s.Base.Test
	p := preparation{Engine: e, solve: s, mirror: mirror, setup: setup, forker: forker}
	if err := p.clear(ctx); err != nil {
		return err
	}
	_, err = p.build(ctx)
	return err
}
