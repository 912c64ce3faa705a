package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// Attach takes over the sandbox of a dead owner. One that was never opened to its
// end is removed instead.
func (d *Driver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "attach", "before")
	defer failpoint.Hit("sandbox", "attach", "after")
	h, err := d.attach(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("attach sandbox %s: %w", name, err)
	}
	d.log.Debug().Str(logkey.SandboxID, name).Msg("sandbox attached")
	return h, nil
}

func (d *Driver) attach(ctx context.Context, name string) (*handle, error) {
	if sandbox.CheckName(name) != nil {
		return nil, sandbox.ErrGone
	}
	release, err := d.journal.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	n, err := d.journal.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && n.Stage == Frozen:
		return nil, sandbox.ErrGone
	case err != nil:
		return nil, err
	case n.Stage == Opening || n.Stage == Closing:
		return nil, d.gone(ctx, n, sandbox.ErrGone)
	}
	m, err := d.provider.Wake(ctx, n)
	if errors.Is(err, sandbox.ErrGone) {
		return nil, d.gone(ctx, n, err)
	}
	if err != nil {
		return nil, d.provider.Explain(err)
	}
	return d.takeOver(ctx, m, n)
}

// gone removes what is left of a sandbox and returns why it cannot be attached to.
func (d *Driver) gone(ctx context.Context, n Note, why error) error {
	if err := d.erase(ctx, n); err != nil {
		return fmt.Errorf("remove what is left of it: %w", err)
	}
	return why
}

// takeOver makes this process the owner, on disk and then in the machine, and
// finishes what the dead owner may have been about to do.
func (d *Driver) takeOver(ctx context.Context, m guest.Remote, n Note) (*handle, error) {
	n.Owner = NewKey()
	if err := d.journal.Write(n); err != nil {
		return nil, err
	}
	if old := d.newest(n.Name); old != nil {
		d.forget(old, nil)
	}
	if err := d.provider.Restrict(ctx, n); err != nil && !errors.Is(err, errors.ErrUnsupported) { // then it was never changed
		return nil, err
	}
	in, err := guest.Attach(ctx, m, guestOptions(n))
	if err != nil {
		return nil, err
	}
	return d.newHandle(in, m, n), nil
}
