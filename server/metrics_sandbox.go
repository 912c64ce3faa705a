package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

// driver counts what a sandbox driver opens, closes and sweeps. What only some
// drivers and sandboxes can do, the wrapped ones can, too.
func (m *metrics) driver(next sandbox.Driver) sandbox.Driver {
	d := countedDriver{next, m, next.Traits().Name}
	if f, ok := next.(sandbox.Forker); ok {
		return countedForker{d, f}
	}
	return d
}

type countedDriver struct {
	sandbox.Driver
	m    *metrics
	name string
}

// Open implements [sandbox.Driver].
func (d countedDriver) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	sb, err := d.Driver.Open(ctx, spec)
	d.m.boxOpens.WithLabelValues(d.name, result("opened", err)).Inc()
	if err != nil {
		return nil, err
	}
	return d.m.box(sb, d.name), nil
}

// Attach implements [sandbox.Driver].
func (d countedDriver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	sb, err := d.Driver.Attach(ctx, name)
	if err != nil {
		return nil, err
	}
	d.m.boxOpens.WithLabelValues(d.name, "attached").Inc()
	return d.m.box(sb, d.name), nil
}

// Sweep implements [sandbox.Driver].
func (d countedDriver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	swept, err := d.Driver.Sweep(ctx, keep)
	d.m.boxLeaks.WithLabelValues(d.name).Add(float64(len(swept)))
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
	m      *metrics
	driver string
	once   sync.Once
}

func (m *metrics) box(sb sandbox.Sandbox, driver string) sandbox.Sandbox {
	m.boxesOpen.WithLabelValues(driver).Inc()
	b := &countedBox{Sandbox: sb, m: m, driver: driver}
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

// Place implements [sandbox.Placed].
func (b *countedBox) Place() sandbox.Place {
	if p, ok := b.Sandbox.(sandbox.Placed); ok {
		return p.Place()
	}
	return sandbox.Place{Driver: b.driver}
}

// Restrict implements [sandbox.Egress].
func (b *countedBox) Restrict(ctx context.Context, n sandbox.Network) error {
	if e, ok := b.Sandbox.(sandbox.Egress); ok {
		return e.Restrict(ctx, n)
	}
	return fmt.Errorf("restrict sandbox %s: %w", b.Name(), errors.ErrUnsupported)
}

// Launch implements [sandbox.Launcher].
func (b *countedBox) Launch(ctx context.Context, c sandbox.Command) error {
	if l, ok := b.Sandbox.(sandbox.Launcher); ok {
		return l.Launch(ctx, c)
	}
	return fmt.Errorf("launch in sandbox %s: %w", b.Name(), errors.ErrUnsupported)
}

// Launched implements [sandbox.Launcher].
func (b *countedBox) Launched(ctx context.Context) (bool, error) {
	if l, ok := b.Sandbox.(sandbox.Launcher); ok {
		return l.Launched(ctx)
	}
	return false, nil
}

// Halt implements [sandbox.Launcher].
func (b *countedBox) Halt(ctx context.Context) error {
	if l, ok := b.Sandbox.(sandbox.Launcher); ok {
		return l.Halt(ctx)
	}
	return nil
}

// gone counts the end of the sandbox, once.
func (b *countedBox) gone(err error) {
	b.once.Do(func() {
		b.m.boxesOpen.WithLabelValues(b.driver).Dec()
		b.m.boxCloses.WithLabelValues(b.driver, result("closed", err)).Inc()
	})
}

// Close implements [sandbox.Sandbox]. One that could not be closed is left to the sweep.
func (b *countedBox) Close(ctx context.Context) error {
	err := b.Sandbox.Close(ctx)
	b.gone(err)
	return err
}
