package server

import (
	"context"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

// driver counts what a sandbox driver opens, closes and sweeps. What only some
// drivers and sandboxes can do, the wrapped ones can, too.
func (m *metrics) driver(next sandbox.Driver) sandbox.Driver {
	d := countedDriver{next, m}
	if f, ok := next.(sandbox.Forker); ok {
		return countedForker{d, f}
	}
	return d
}

type countedDriver struct {
	sandbox.Driver
	m *metrics
}

// Open implements [sandbox.Driver].
func (d countedDriver) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	sb, err := d.Driver.Open(ctx, spec)
	d.m.boxOpens.WithLabelValues(result("opened", err)).Inc()
	if err != nil {
		return nil, err
	}
	return d.m.box(sb), nil
}

// Attach implements [sandbox.Driver].
func (d countedDriver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	sb, err := d.Driver.Attach(ctx, name)
	if err != nil {
		return nil, err
	}
	d.m.boxOpens.WithLabelValues("attached").Inc()
	return d.m.box(sb), nil
}

// Sweep implements [sandbox.Driver].
func (d countedDriver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	swept, err := d.Driver.Sweep(ctx, keep)
	d.m.boxLeaks.Add(float64(len(swept)))
	return swept, err
}

type countedForker struct {
	countedDriver
	sandbox.Forker
}

// Freeze implements [sandbox.Forker]: the sandbox is closed by it.
func (d countedForker) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	counted, ours := sb.(interface{ counted() *countedBox })
	if !ours {
		return d.Forker.Freeze(ctx, sb)
	}
	b := counted.counted()
	base, err := d.Forker.Freeze(ctx, b.Sandbox)
	if err == nil {
		b.gone(nil)
	}
	return base, err
}

// countedBox is an open sandbox.
type countedBox struct {
	sandbox.Sandbox
	m    *metrics
	once sync.Once
}

func (m *metrics) box(sb sandbox.Sandbox) sandbox.Sandbox {
	m.boxesOpen.Inc()
	b := &countedBox{Sandbox: sb, m: m}
	s, stamps := sb.(sandbox.Stamper)
	r, refuses := sb.(sandbox.Refuser)
	switch {
	case stamps && refuses:
		return struct {
			*countedBox
			sandbox.Stamper
			sandbox.Refuser
		}{b, s, r}
	case stamps:
		return struct {
			*countedBox
			sandbox.Stamper
		}{b, s}
	case refuses:
		return struct {
			*countedBox
			sandbox.Refuser
		}{b, r}
	default:
		return b
	}
}

func (b *countedBox) counted() *countedBox { return b }

// gone counts the end of the sandbox, once.
func (b *countedBox) gone(err error) {
	b.once.Do(func() {
		b.m.boxesOpen.Dec()
		b.m.boxCloses.WithLabelValues(result("closed", err)).Inc()
	})
}

// Close implements [sandbox.Sandbox]. One that could not be closed is left to the sweep.
func (b *countedBox) Close(ctx context.Context) error {
	err := b.Sandbox.Close(ctx)
	b.gone(err)
	return err
}
