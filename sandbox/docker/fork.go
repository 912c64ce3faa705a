package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
)

// Freeze commits the container to an image and removes it. A process that dies in
// between leaves both; the next Freeze of that sandbox commits again, so that a base
// never lacks what was done since.
func (d *Driver) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	failpoint.Hit("sandbox", "freeze", "before")
	defer failpoint.Hit("sandbox", "freeze", "after")
	b, ok := sb.(*handle)
	if !ok || b.driver != d {
		return "", fmt.Errorf("freeze sandbox %s: it is another driver's", sb.Name())
	}
	b.ending.Lock()
	defer b.ending.Unlock()
	if b.frozen {
		return b.name, nil
	}
	if b.ended || !b.owned() {
		return "", fmt.Errorf("freeze sandbox %s: %w", b.name, sandbox.ErrGone)
	}
	if err := b.Still(ctx); err != nil {
		return "", fmt.Errorf("freeze sandbox %s: %w", b.name, err)
	}
	b.End(nil)
	if err := d.commit(ctx, b); err != nil {
		return "", fmt.Errorf("freeze sandbox %s: %w", b.name, d.explain(err))
	}
	failpoint.Hit("sandbox", "freeze", "committed")
	if err := b.remove(ctx); err != nil {
		return "", fmt.Errorf("freeze sandbox %s: %w", b.name, err)
	}
	b.frozen = true
	return b.name, nil
}

// commit makes the base. An image that an earlier, half-made freeze left under the
// name is removed.
func (d *Driver) commit(ctx context.Context, b *handle) error {
	old, err := d.base(ctx, b.name)
	if err != nil && !errors.Is(err, sandbox.ErrGone) {
		return err
	}
	res, err := d.api.ContainerCommit(ctx, b.id, client.ContainerCommitOptions{Reference: d.baseName(b.name)})
	if errdefs.IsNotFound(err) {
		return sandbox.ErrGone
	}
	if err != nil {
		return err
	}
	if old.id != "" && old.id != res.ID {
		_, err = d.api.ImageRemove(ctx, old.id, client.ImageRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // what uses it keeps it, until a Sweep
			return err
		}
	}
	return nil
}

// Thaw removes the base's image.
func (d *Driver) Thaw(ctx context.Context, base string) error {
	failpoint.Hit("sandbox", "thaw", "before")
	defer failpoint.Hit("sandbox", "thaw", "after")
	if _, err := d.base(ctx, base); errors.Is(err, sandbox.ErrGone) {
		return nil
	} else if err != nil {
		return fmt.Errorf("thaw base %s: %w", base, d.explain(err))
	}
	if err := d.removeImage(ctx, d.baseName(base)); err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	return nil
}

// removeImage removes an image by its name or id; its parents stay.
func (d *Driver) removeImage(ctx context.Context, image string) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	_, err := d.api.ImageRemove(ctx, image, client.ImageRemoveOptions{})
	if err != nil && !errdefs.IsNotFound(err) {
		return d.explain(err)
	}
	return nil
}

// HasBase reports whether the base's image is there.
func (d *Driver) HasBase(ctx context.Context, base string) bool {
	_, err := d.base(ctx, base)
	return err == nil
}
