package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

// Freeze takes a snapshot of a sandbox, which is the base, and closes the sandbox.
func (d *Driver) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	h, ok := sb.(*handle)
	if !ok || h.driver != d {
		return "", fmt.Errorf("freeze sandbox %s: it is not of this driver", sb.Name())
	}
	failpoint.Hit("sandbox", "freeze", "before")
	defer failpoint.Hit("sandbox", "freeze", "after")
	if err := d.freeze(ctx, h); err != nil {
		return "", fmt.Errorf("freeze sandbox %s: %w", h.Name(), err)
	}
	return h.Name(), nil
}

func (d *Driver) freeze(ctx context.Context, h *handle) error {
	release, err := d.journal.lock(ctx, h.Name())
	if err != nil {
		return err
	}
	defer release()
	n, own, err := d.journal.owned(h.Name(), h.owner)
	switch {
	case err != nil:
		return err
	case own && n.Stage == Frozen:
		return nil
	case !own || h.done:
		return sandbox.ErrGone
	}
	if err := h.Still(ctx); err != nil {
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
	if err := d.provider.Parent(ctx, &n, fresh); err != nil {
		return d.provider.Explain(err)
	}
	if n.ID == id {
		return nil
	}
	return d.journal.Write(n)
}

// Thaw deletes a base.
func (d *Driver) Thaw(ctx context.Context, base string) error {
	if sandbox.CheckName(base) != nil {
		return nil
	}
	failpoint.Hit("sandbox", "thaw", "before")
	defer failpoint.Hit("sandbox", "thaw", "after")
	release, err := d.journal.lock(ctx, base)
	if err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	defer release()
	n, err := d.journal.Read(base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && n.Stage != Frozen {
		return nil
	}
	if err == nil {
		err = d.erase(ctx, n)
	}
	if err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	return nil
}

// HasBase reports whether sandboxes can be opened from a base.
func (d *Driver) HasBase(ctx context.Context, base string) bool {
	if sandbox.CheckName(base) != nil {
		return false
	}
	n, err := d.journal.Read(base)
	return err == nil && n.Stage == Frozen && d.provider.HasSnapshot(ctx, n)
}
