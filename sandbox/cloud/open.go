package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Open makes a sandbox and returns when its network rules hold and commands can run.
func (d *Driver) Open(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	began := time.Now()
	var h *handle
	err := d.step(ctx, "open", s.Name, func() (err error) {
		h, err = d.open(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.log.Debug().Str(logkey.SandboxID, s.Name).Dur(logkey.Duration, time.Since(began)).Msg("sandbox opened")
	return h, nil
}

func (d *Driver) open(ctx context.Context, s sandbox.Spec) (*handle, error) {
	if err := errors.Join(ctx.Err(), s.Check()); err != nil {
		return nil, err
	}
	n, err := d.newNote(s)
	if err != nil {
		return nil, err
	}
	if err := d.vacate(ctx, s.Name); err != nil {
		return nil, err
	}
	var base *Note
	if s.From != "" {
		b, err := d.journal.find(s.From, true)
		if err != nil {
			return nil, fmt.Errorf("base %s: %w", s.From, err)
		}
		base = &b
	}
	if err := d.provider.Plan(s, &n, base); err != nil {
		return nil, err
	}
	if err := d.journal.Write(n); err != nil { // before the call that it is about
		return nil, err
	}
	h, err := d.create(ctx, s, &n, base)
	if err == nil {
		return h, nil
	}
	clean, cancel := Cleaning(ctx)
	defer cancel()
	if e := d.erase(clean, n); e != nil {
		d.log.Warn().Str(logkey.SandboxID, s.Name).Err(e).Msg("half an open sandbox is left, it will be swept")
	}
	return nil, err
}

// newNote is the note of a sandbox before anything is asked for.
func (d *Driver) newNote(s sandbox.Spec) (Note, error) {
	allow, err := d.hosts(s.Network)
	now := time.Now().UTC()
	n := Note{Record: records.Record{Name: s.Name, Key: NewKey(), Labels: maps.Clone(s.Labels), Created: now}}
	n.Detail = Detail{Stage: Opening, Owner: NewKey(), Launch: s.Launch, Parent: s.From, Allow: allow}
	if s.TTL > 0 {
		n.Until = now.Add(s.TTL)
	}
	return n, err
}

// vacate makes sure that nothing has the name. What a dead process left half open
// is removed; what could be attached to is in use.
func (d *Driver) vacate(ctx context.Context, name string) error {
	n, err := d.journal.Read(name)
	switch {
	case errors.Is(err, sandbox.ErrGone):
		return nil
	case err != nil:
		return err
	case n.Stage == Opening || n.Stage == Closing:
		return d.erase(ctx, n)
	}
	return errors.New("the name is in use")
}

// create asks for the machine and makes a sandbox of it. The note is kept up to date.
func (d *Driver) create(ctx context.Context, s sandbox.Spec, n, base *Note) (*handle, error) {
	m, err := d.provider.Create(ctx, s, n, base, func() error { return d.journal.Write(*n) })
	if err != nil {
		if n.ID == "" && Undone(err) {
			n.Key = "" // it was refused: there is nothing to look for
		}
		return nil, d.provider.Explain(err)
	}
	in, err := guest.Open(ctx, m, guestOptions(*n))
	if err != nil {
		return nil, d.guestError(err)
	}
	n.Stage = Ready
	if err := d.journal.Write(*n); err != nil {
		in.End(nil)
		return nil, err
	}
	return d.newHandle(in, m, *n), nil
}

func guestOptions(n Note) guest.Options {
	return guest.Options{Name: n.Name, Token: n.Owner, User: n.User, OOM: "vmstat", Launch: n.Launch}
}

// Attach takes over the sandbox of a dead owner. One that was never opened to its
// end is removed instead.
func (d *Driver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	var h *handle
	err := d.step(ctx, "attach", name, func() (err error) {
		h, err = d.attach(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.log.Debug().Str(logkey.SandboxID, name).Msg("sandbox attached")
	return h, nil
}

func (d *Driver) attach(ctx context.Context, name string) (*handle, error) {
	n, err := d.journal.find(name, false)
	if err != nil {
		return nil, err
	}
	m, err := guest.Remote(nil), sandbox.ErrGone
	if n.Stage == Ready {
		m, err = d.provider.Wake(ctx, n)
	}
	if errors.Is(err, sandbox.ErrGone) {
		if failed := d.erase(ctx, n); failed != nil {
			return nil, fmt.Errorf("remove what is left of it: %w", failed)
		}
	}
	if err != nil {
		return nil, d.provider.Explain(err)
	}
	return d.takeOver(ctx, m, n)
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
		return nil, d.provider.Explain(err)
	}
	in, err := guest.Attach(ctx, m, guestOptions(n))
	if err != nil {
		return nil, d.guestError(err)
	}
	return d.newHandle(in, m, n), nil
}

// guestError is the contract's error where package guest could not begin.
func (d *Driver) guestError(err error) error {
	switch {
	case errors.Is(err, sandbox.ErrSetting):
		return fmt.Errorf("%s: %w", d.options.Origin, err)
	case errors.Is(err, guest.ErrCut):
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return err
}
