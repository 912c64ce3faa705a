package solver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// boxes is the fake driver, as strict as a real one about bases that are still
// used, with a book of what was opened.
type boxes struct {
	*fakesandbox.Driver
	mu     sync.Mutex
	opened []sandbox.Spec
	frozen []string
	from   map[string]string // base of each sandbox

	restricted map[string][]sandbox.Network // of each sandbox, in order
}

// networks are those that a sandbox was restricted to.
func (b *boxes) networks(name string) []sandbox.Network {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.restricted[name]
}

// specs are the sandboxes opened in a phase ("prepare", "work", "judge"), in order.
func (b *boxes) specs(phase string) []sandbox.Spec {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.opened), func(s sandbox.Spec) bool { return s.Labels["phase"] != phase })
}

// leftovers are the sandboxes and bases there are.
func (b *boxes) leftovers() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.OpenNames()
	for _, name := range b.frozen {
		if b.HasBase(context.Background(), name) {
			out = append(out, name)
		}
	}
	return out
}

// tenant is the driver as one process sees it. When that process dies, its
// handles do nothing any more.
type tenant struct {
	*boxes
	mu    sync.Mutex
	dead  bool
	sweep func(context.Context, func(sandbox.Info) bool) ([]string, error) // instead of the driver's own
}

var (
	_ sandbox.Driver = (*tenant)(nil)
	_ sandbox.Forker = (*tenant)(nil)
)

var errDead = errors.New("this process is dead")

func (d *tenant) alive() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDead
	}
	return nil
}

func (d *tenant) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// handle is a sandbox of a tenant.
type handle struct {
	*fakesandbox.Sandbox
	owner *tenant
}

func (h *handle) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if err := h.owner.alive(); err != nil {
		return sandbox.Result{}, err
	}
	return h.Sandbox.Exec(ctx, c)
}

func (h *handle) Close(ctx context.Context) error {
	if err := h.owner.alive(); err != nil {
		return err
	}
	return h.Sandbox.Close(ctx)
}

func (h *handle) Restrict(ctx context.Context, n sandbox.Network) error {
	if err := errors.Join(h.owner.alive(), h.Sandbox.Restrict(ctx, n)); err != nil {
		return err
	}
	b := h.owner.boxes
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.restricted == nil {
		b.restricted = map[string][]sandbox.Network{}
	}
	b.restricted[h.Name()] = append(b.restricted[h.Name()], n)
	return nil
}

func (h *handle) Launch(ctx context.Context, c sandbox.Command) error {
	if err := h.owner.alive(); err != nil {
		return err
	}
	return h.Sandbox.Launch(ctx, c)
}

func (h *handle) Launched(ctx context.Context) (bool, error) {
	if err := h.owner.alive(); err != nil {
		return false, err
	}
	return h.Sandbox.Launched(ctx)
}

func (h *handle) Halt(ctx context.Context) error {
	if err := h.owner.alive(); err != nil {
		return err
	}
	return h.Sandbox.Halt(ctx)
}

func (d *tenant) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := d.alive(); err != nil {
		return nil, err
	}
	sb, err := d.Driver.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	d.boxes.mu.Lock()
	defer d.boxes.mu.Unlock()
	d.opened = append(d.opened, spec)
	d.from[spec.Name] = spec.From
	return &handle{sb.(*fakesandbox.Sandbox), d}, nil
}

func (d *tenant) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	if err := d.alive(); err != nil {
		return nil, err
	}
	sb, err := d.Driver.Attach(ctx, name)
	if err != nil {
		return nil, err
	}
	return &handle{sb.(*fakesandbox.Sandbox), d}, nil
}

func (d *tenant) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	if err := d.alive(); err != nil {
		return "", err
	}
	name, err := d.Driver.Freeze(ctx, sb.(*handle).Sandbox)
	d.boxes.mu.Lock()
	defer d.boxes.mu.Unlock()
	d.frozen = append(d.frozen, name)
	return name, err
}

// Thaw refuses, as the drivers do, what a sandbox or base still stands on.
func (d *tenant) Thaw(ctx context.Context, base string) error {
	if err := errors.Join(d.alive(), ctx.Err()); err != nil {
		return err
	}
	for _, name := range d.OpenNames() {
		d.boxes.mu.Lock()
		from := d.from[name]
		d.boxes.mu.Unlock()
		if from == base {
			return fmt.Errorf("thaw base %s: still used by %s", base, name)
		}
	}
	return d.Driver.Thaw(ctx, base)
}

func (d *tenant) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	if err := d.alive(); err != nil {
		return nil, err
	}
	if d.sweep != nil {
		return d.sweep(ctx, keep)
	}
	return d.Driver.Sweep(ctx, keep)
}
