package prepare

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

// Open opens a sandbox on the solve's base. It makes a base again that is gone: the store was
// restored on another machine, somebody emptied the sandboxes' directory, or another driver
// took over. Where there is no base, it prepares the sandbox by itself.
func (p *Preparer) Open(ctx context.Context, s solve.Solve, spec sandbox.Spec, used *sandboxes.Recorder) (sandbox.Sandbox, error) {
	d, err := sandboxes.DriverOf(p.drivers, s)
	if err != nil {
		return nil, err
	}
	if s.Base.Image == "" {
		return p.openStandalone(ctx, s, d, spec, used)
	}
	sb, err := used.Open(ctx, d, spec, s)
	if !errors.Is(err, sandbox.ErrGone) {
		return sb, err
	}
	at := driverWithoutBase(err, d)
	made, err := p.rebuilt(ctx, s, at, spec, used)
	switch {
	case err != nil:
		return nil, err
	case made:
		return used.Open(ctx, d, spec, s)
	default:
		return p.openStandalone(ctx, s, at, spec, used)
	}
}

// driverWithoutBase is the driver that lacks the base: the one that the error names, if it does.
func driverWithoutBase(err error, d sandbox.Driver) sandbox.Driver {
	var e interface{ At() sandbox.Driver }
	if errors.As(err, &e) {
		return e.At()
	}
	return d
}

// rebuilt makes the base again in the driver at, one at a time, unless another run did so
// meanwhile. It returns false if the driver cannot hold a base.
func (p *Preparer) rebuilt(
	ctx context.Context, s solve.Solve, at sandbox.Driver, spec sandbox.Spec, used *sandboxes.Recorder,
) (bool, error) {
	if p.holdsNoBase(at) {
		return false, nil
	}
	select {
	case p.rebuilding <- struct{}{}:
		defer func() { <-p.rebuilding }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if f, ok := at.(sandbox.Forker); p.holdsNoBase(at) || ok && f.HasBase(ctx, spec.From) {
		return !p.holdsNoBase(at), nil
	}
	zerolog.Ctx(ctx).Warn().Str(logkey.Driver, at.Traits().Name).Msg("base is gone, it is made again")
	b, err := p.buildAgain(ctx, s, at, used)
	image := ""
	if err == nil {
		_, image, err = b.make(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("make the base again: %w", err)
	}
	return image != "", nil
}

// holdsNoBase says that a driver holds no bases.
func (p *Preparer) holdsNoBase(d sandbox.Driver) bool {
	_, known := p.forkless.Load(d.Traits().Name)
	return known || !sandboxes.Forks(d)
}

// openStandalone prepares a sandbox by itself.
func (p *Preparer) openStandalone(
	ctx context.Context, s solve.Solve, d sandbox.Driver, spec sandbox.Spec, used *sandboxes.Recorder,
) (sandbox.Sandbox, error) {
	b, err := p.buildAgain(ctx, s, d, used)
	if err != nil {
		return nil, err
	}
	return b.standalone(ctx, spec)
}

// buildAgain is the build of a solve that was prepared before.
func (p *Preparer) buildAgain(ctx context.Context, s solve.Solve, d sandbox.Driver, used *sandboxes.Recorder) (*build, error) {
	mirror, err := p.Mirror(ctx, s)
	if err != nil {
		return nil, err
	}
	setup, err := p.setup(ctx, mirror, s)
	if err != nil {
		return nil, err
	}
	return &build{by: p, driver: d, solve: s, mirror: mirror, setup: setup, usage: used}, nil
}

// freeze makes a base of a sandbox. It returns "" if the driver turns out not to offer that;
// the sandbox stays open then.
func (p *Preparer) freeze(ctx context.Context, d sandbox.Driver, sb sandbox.Sandbox) (string, error) {
	if !sandboxes.Forks(d) {
		return "", nil
	}
	base, err := d.(sandbox.Forker).Freeze(ctx, sb)
	if errors.Is(err, errors.ErrUnsupported) {
		p.forkless.Store(sandboxes.PlaceOf(d, sb).Driver, true)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return base, nil
}
