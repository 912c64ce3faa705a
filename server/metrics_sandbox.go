package server

import (
	"context"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

// driver counts what a sandbox driver opens, closes and sweeps, and notes how it is.
func (m *metrics) driver(next sandbox.Driver) sandbox.Driver {
	d := countingDriver{next, m, next.Traits().Name}
	if f, ok := next.(sandbox.Forker); ok {
		return countingForker{d, f}
	}
	return d
}

type countingDriver struct {
	sandbox.Driver
	m    *metrics
	name string
}

// Check implements [sandbox.Driver].
func (d countingDriver) Check(ctx context.Context) error {
	err := d.Driver.Check(ctx)
	d.m.health.driver(ctx, d.name, err)
	return err
}

// Open implements [sandbox.Driver].
func (d countingDriver) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	sb, err := d.Driver.Open(ctx, spec)
	d.m.health.driver(ctx, d.name, err)
	d.m.sandboxOpens.WithLabelValues(d.name, result("opened", err)).Inc()
	return d.opened(sb, err)
}

// Attach implements [sandbox.Driver].
func (d countingDriver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	sb, err := d.Driver.Attach(ctx, name)
	if err == nil {
		d.m.sandboxOpens.WithLabelValues(d.name, "attached").Inc()
	}
	return d.opened(sb, err)
}

// opened counts an open sandbox.
func (d countingDriver) opened(sb sandbox.Sandbox, err error) (sandbox.Sandbox, error) {
	if err != nil {
		return nil, err
	}
	d.m.sandboxesOpen.WithLabelValues(d.name).Inc()
	closed := func(err error) {
		d.m.sandboxesOpen.WithLabelValues(d.name).Dec()
		d.m.sandboxCloses.WithLabelValues(d.name, result("closed", err)).Inc()
	}
	return &countingSandbox{Sandbox: sb, closed: closed}, nil
}

// Sweep implements [sandbox.Driver].
func (d countingDriver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	swept, err := d.Driver.Sweep(ctx, keep)
	d.m.sandboxLeaks.WithLabelValues(d.name).Add(float64(len(swept)))
	return swept, err
}

type countingForker struct {
	countingDriver
	sandbox.Forker
}

// Freeze implements [sandbox.Forker]: it closes the sandbox.
func (d countingForker) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	counting, ok := sb.(*countingSandbox)
	if !ok {
		return d.Forker.Freeze(ctx, sb)
	}
	base, err := d.Forker.Freeze(ctx, counting.Sandbox)
	if err == nil {
		counting.once.Do(func() { counting.closed(nil) })
	}
	return base, err
}

// countingSandbox is an open sandbox whose end is counted, once.
type countingSandbox struct {
	sandbox.Sandbox
	closed func(error)
	once   sync.Once
}

// Unwrap shows [sandbox.As] the sandbox inside.
func (s *countingSandbox) Unwrap() sandbox.Sandbox { return s.Sandbox }

// Close implements [sandbox.Sandbox]. One that could not be closed is left to the sweep.
func (s *countingSandbox) Close(ctx context.Context) error {
	err := s.Sandbox.Close(ctx)
	s.once.Do(func() { s.closed(err) })
	return err
}
