package e2b

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
	"github.com/yudai-dev/yudai/sandbox/records"
)

func (d *Driver) attach(ctx context.Context, name string) (*box, error) {
	if sandbox.CheckName(name) != nil {
		return nil, sandbox.ErrGone
	}
	release, err := d.reserve(name)
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := d.book.Get(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	case err != nil:
		return nil, err
	case r.Base:
		return nil, fmt.Errorf("%w: it is a base", sandbox.ErrGone)
	case r.ID == "": // its maker died before the service answered; Sweep ends what there may be
		return nil, errors.Join(fmt.Errorf("%w: it was never made", sandbox.ErrGone), d.book.Delete(name))
	}
	if r.More[moreOpening] != "" { // its maker died before it was usable; its network may be that of its base
		return nil, errors.Join(fmt.Errorf("%w: it was never ready", sandbox.ErrGone), d.end(ctx, r))
	}
	if old := d.alive(name); old != nil { // our own handle: it loses the sandbox in an orderly way
		old.lose()
	}
	m, err := d.awake(ctx, r)
	if errors.Is(err, sandbox.ErrGone) {
		return nil, errors.Join(err, d.book.Delete(name))
	}
	if err != nil {
		return nil, err
	}
	if r, err = d.finish(ctx, r); err != nil {
		return nil, err
	}
	return d.adopt(ctx, m, r, inside.Attach)
}

// finish brings what the dead owner left half done to an end that is known: a
// snapshot whose answer nobody read, and a network that was being changed. Then
// nothing is open, until somebody asks.
func (d *Driver) finish(ctx context.Context, r records.Record) (records.Record, error) {
	name, network := r.More[moreFreezing], r.More[moreNetwork]
	if name == "" && network != unknown {
		return r, nil
	}
	if name != "" {
		if err := d.reapSnapshots(ctx, r.ID, name); err != nil {
			return r, d.config.explain(err)
		}
		r = with(r, moreFreezing, "")
	}
	if network == unknown {
		nothing := rules(sandbox.Network{})
		if err := d.control.restrict(ctx, r.ID, closed(nothing)); err != nil {
			return r, d.config.explain(err)
		}
		r = with(r, moreNetwork, nothing.key())
	}
	return r, d.book.Put(r)
}

// awake reads a sandbox by its id, never by a list: one that is being frozen is
// missing there. One that is paused is woken.
func (d *Driver) awake(ctx context.Context, r records.Record) (machine, error) {
	m, err := d.control.get(ctx, r.ID)
	if err == nil && (m.State == paused || m.Token == "") {
		m, err = d.control.connect(ctx, r.ID, d.config.life(r))
	}
	if err == nil {
		err = d.control.renew(ctx, r.ID, d.config.life(r))
	}
	if status(err) == http.StatusNotFound {
		return m, fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	if err != nil {
		return m, d.config.explain(err)
	}
	return m, nil
}

// alive is our own handle of that name, nil if there is none.
func (d *Driver) alive(name string) *box {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[name]
}
