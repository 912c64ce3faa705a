package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

// Freeze takes a snapshot of a sandbox, which is the base, and closes the sandbox.
func (d *Driver) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	h, ok := sb.(*handle)
	if !ok || h.driver != d {
		return "", fmt.Errorf("freeze sandbox %s: it is not of this driver", sb.Name())
	}
	if err := d.step(ctx, "freeze", h.Name(), func() error { return d.freeze(ctx, h) }); err != nil {
		return "", err
	}
	return h.Name(), nil
}

func (d *Driver) freeze(ctx context.Context, h *handle) error {
	n, err := h.note()
	switch {
	case err != nil:
		return err
	case n.Stage == Frozen:
		return nil
	case h.done:
		return sandbox.ErrGone
	}
	if err := h.box.Still(ctx); err != nil {
		return err
	}
	id, err := d.provider.Snapshot(ctx, h.machine, &n, func() error { return d.journal.Write(n) })
	if err != nil {
		return d.provider.Explain(err)
	}
	n.Stage, n.Snapshot = Frozen, id
	if err := d.journal.Write(n); err != nil { // from here on it is a base
		return err
	}
	d.forget(h, fmt.Errorf("sandbox %s is frozen: %w", h.Name(), sandbox.ErrGone))
	if err := d.parent(ctx, n, true); err != nil {
		d.log.Warn().Str(logkey.SandboxID, h.Name()).Err(err).Msg("frozen sandbox not removed, it will be swept")
	}
	return nil
}

// parent does with the machine of a base what the provider decides.
func (d *Driver) parent(ctx context.Context, n Note, fresh bool) error {
	id := n.ID
	if id == "" {
		return nil
	}
	err := d.provider.Parent(ctx, &n, fresh)
	if err != nil || n.ID == id {
		return d.provider.Explain(err)
	}
	return d.journal.Write(n)
}

// Thaw deletes a base.
func (d *Driver) Thaw(ctx context.Context, base string) error {
	return d.step(ctx, "thaw", base, func() error {
		n, err := d.journal.find(base, true)
		if errors.Is(err, sandbox.ErrGone) {
			return nil
		}
		if err != nil {
			return err
		}
		return d.erase(ctx, n)
	})
}

// HasBase reports whether sandboxes can be opened from a base.
func (d *Driver) HasBase(ctx context.Context, base string) bool {
	n, err := d.journal.find(base, true)
	return err == nil && d.provider.HasSnapshot(ctx, n)
}
