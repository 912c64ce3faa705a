package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Open makes a sandbox and returns when its network rules hold and commands can run.
func (d *Driver) Open(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "open", "before")
	defer failpoint.Hit("sandbox", "open", "after")
	began := time.Now()
	h, err := d.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open sandbox %s: %w", s.Name, err)
	}
	d.log.Debug().Str(logkey.SandboxID, s.Name).Dur(logkey.Duration, time.Since(began)).Msg("sandbox opened")
	return h, nil
}

func (d *Driver) open(ctx context.Context, s sandbox.Spec) (*handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	n, err := d.newNote(s)
	if err != nil {
		return nil, err
	}
	release, err := d.journal.lock(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := d.vacate(ctx, s.Name); err != nil {
		return nil, err
	}
	base, err := d.base(s.From)
	if err != nil {
		return nil, err
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
	clean, cancel := d.cleaning(ctx)
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

// hosts is the allow-list of a network, sorted, never nil.
func (d *Driver) hosts(n sandbox.Network) ([]string, error) {
	if n.Socket != "" {
		return nil, fmt.Errorf("%w: no socket of this machine can be shown in a sandbox of a provider (%s): allow a public name that leads here",
			errors.ErrUnsupported, n.Socket)
	}
	if err := d.options.CheckHosts(n.Allow); err != nil {
		return nil, err
	}
	all := append([]string{}, n.Allow...)
	slices.Sort(all)
	return slices.Compact(all), nil
}

// vacate makes sure that nothing has the name. What a dead process left half open
// is removed; what could be attached to is in use.
func (d *Driver) vacate(ctx context.Context, name string) error {
	n, err := d.journal.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case n.Stage == Opening || n.Stage == Closing:
		return d.erase(ctx, n)
	}
	return errors.New("the name is in use")
}

// base reads the note of a base, nil for "".
func (d *Driver) base(name string) (*Note, error) {
	if name == "" {
		return nil, nil
	}
	n, err := d.journal.Read(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && n.Stage != Frozen {
		return nil, fmt.Errorf("base %s: %w", name, sandbox.ErrGone)
	}
	return &n, err
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
	switch {
	case errors.Is(err, sandbox.ErrSetting):
		return nil, fmt.Errorf("%s: %w", d.options.Origin, err)
	case errors.Is(err, guest.ErrCut):
		return nil, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	case err != nil:
		return nil, err
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
