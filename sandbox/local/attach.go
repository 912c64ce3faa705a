package local

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
)

// Attach takes over the sandbox of a dead owner: the files are on disk. Its
// commands died with it; those that did not yet are ended first.
func (d *Driver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "attach", "before")
	defer failpoint.Hit("sandbox", "attach", "after")
	b, err := d.attach(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("attach sandbox %s: %w", name, err)
	}
	return b, nil
}

func (d *Driver) attach(ctx context.Context, name string) (*box, error) {
	if sandbox.CheckName(name) != nil {
		return nil, sandbox.ErrGone
	}
	if err := d.ready(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	old := d.live[name]
	d.mu.Unlock()
	if old != nil { // our own handle: it loses the sandbox in an orderly way
		old.closer.Do(old.leave)
		d.forget(old)
	}
	failpoint.Hit("sandbox", "attach", "taken")
	return d.take(ctx, d.state.sandbox(name))
}

// take makes a new handle the owner of a sandbox.
func (d *Driver) take(ctx context.Context, dir string) (*box, error) {
	release, err := lockDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := d.state.read(dir)
	if err != nil {
		return nil, err
	}
	for _, base := range r.Lower {
		if !d.HasBase(ctx, base) {
			return nil, fmt.Errorf("its base %s is missing: %w", base, sandbox.ErrGone)
		}
	}
	r.Owner = rand.Text()
	if err := r.write(dir); err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	return d.adopt(ctx, r, dir, (*box).join)
}
