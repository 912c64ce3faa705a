package solver

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// fork opens a sandbox on the solve's base. A base that is gone is made again: the store
// was restored on another machine, somebody emptied the sandboxes' directory, or another
// driver takes over. Where there is no base, the sandbox is prepared by itself.
func (e *Engine) fork(ctx context.Context, s solve.Solve, spec sandbox.Spec, b *sandboxes.Recorder) (sandbox.Sandbox, error) {
	d, err := sandboxes.DriverOf(e.Drivers, s)
	if err != nil {
		return nil, err
	}
	if s.Base.Image == "" {
		return e.alone(ctx, s, d, spec, b)
	}
	sb, err := b.Open(ctx, d, spec, s)
	if !errors.Is(err, sandbox.ErrGone) {
		return sb, err
	}
	at := lacking(err, d)
	made, err := e.remade(ctx, s, d, at, spec, b)
	switch {
	case err != nil:
		return nil, err
	case made:
		return b.Open(ctx, d, spec, s)
	default:
		return e.alone(ctx, s, at, spec, b)
	}
}

// lacking is the driver that lacks a base: the error's own word, where there are several.
func lacking(err error, d sandbox.Driver) sandbox.Driver {
	var e interface{ At() sandbox.Driver }
	if errors.As(err, &e) {
		return e.At()
	}
	return d
}

// remade makes the base again in the driver at, one at a time, unless somebody did it
// meanwhile. false: the driver cannot hold one.
func (e *Engine) remade(ctx context.Context, s solve.Solve, d, at sandbox.Driver, spec sandbox.Spec, b *sandboxes.Recorder) (bool, error) {
	if e.bare(at) {
		return false, nil
	}
	select {
	case e.remaking <- struct{}{}:
		defer func() { <-e.remaking }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if f, ok := at.(sandbox.Forker); e.bare(at) || ok && f.HasBase(ctx, spec.From) {
		return !e.bare(at), nil
	}
	zerolog.Ctx(ctx).Warn().Str(logkey.Driver, at.Traits().Name).Msg("base is gone, it is made again")
	p, err := e.repeat(ctx, s, at, b)
	if err == nil {
		err = p.clear(ctx)
	}
	image := ""
	if err == nil {
		_, image, err = p.build(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("make the base again: %w", err)
	}
	return image != "", nil
}

// bare says that a driver holds no bases.
func (e *Engine) bare(d sandbox.Driver) bool {
	_, known := e.forkless.Load(d.Traits().Name)
	return known || !sandboxes.Forks(d)
}

// alone prepares a sandbox by itself.
func (e *Engine) alone(ctx context.Context, s solve.Solve, d sandbox.Driver, spec sandbox.Spec, b *sandboxes.Recorder) (sandbox.Sandbox, error) {
	p, err := e.repeat(ctx, s, d, b)
	if err != nil {
		return nil, err
	}
	return p.single(ctx, spec)
}

// repeat is the preparation of a solve that was prepared before: same commit, same commands.
func (e *Engine) repeat(ctx context.Context, s solve.Solve, d sandbox.Driver, b *sandboxes.Recorder) (*preparation, error) {
	mirror, err := e.mirror(ctx, s)
	if err != nil {
		return nil, err
	}
	setup, err := e.setup(ctx, mirror, s)
	if err != nil {
		return nil, err
	}
	setup.Install, setup.Test = s.Base.Install, s.Base.Test
	return &preparation{Engine: e, driver: d, solve: s, mirror: mirror, setup: setup, usage: b}, nil
}
