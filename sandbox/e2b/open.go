package e2b

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
	"github.com/yudai-dev/yudai/sandbox/records"
)

func (d *Driver) open(ctx context.Context, spec sandbox.Spec) (*box, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	release, err := d.reserve(spec.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	if old, err := d.book.Get(spec.Name); err == nil && old.ID+old.More[moreSnapshot] != "" {
		return nil, errors.New("name is in use")
	}
	r := newRecord(spec)
	var base records.Record
	if spec.From != "" {
		if base, err = d.base(spec.From); err != nil {
			return nil, err
		}
		r = with(r, moreSize, base.More[moreSize])
	} else if err := checkLimits(spec.Limits, d.known(machine{})); err != nil {
		return nil, err
	}
	return d.create(ctx, spec, r, base)
}

// base reads the record of a frozen base.
func (d *Driver) base(name string) (records.Record, error) {
	if sandbox.CheckName(name) != nil {
		return records.Record{}, fmt.Errorf("base %s: %w", name, sandbox.ErrGone)
	}
	r, err := d.book.Get(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, fmt.Errorf("base %s: %w", name, sandbox.ErrGone)
	case err != nil:
		return r, err
	case !r.Base || r.More[moreSnapshot] == "":
		return r, fmt.Errorf("base %s: it is none: %w", name, sandbox.ErrGone)
	}
	return r, nil
}

// known remembers what the template gives its sandboxes.
func (d *Driver) known(m machine) machine {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.CPUs > 0 {
		d.size[d.config.Template] = m
	}
	return d.size[d.config.Template]
}

// create notes the call, makes the machine, and makes a sandbox of it. What fails
// leaves no record: whatever the service may still have is then nobody's, and
// Sweep ends it.
func (d *Driver) create(ctx context.Context, spec sandbox.Spec, r, base records.Record) (_ *box, err error) {
	leave := d.enter(r.Key)
	defer leave()
	if err := d.book.Put(r); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.book.Delete(r.Name))
		}
	}()
	m, r, err := d.make(ctx, r, base, rules(spec.Network))
	if err != nil {
		return nil, err
	}
	b, err := d.settle(ctx, spec, m, r, base)
	if err != nil {
		after, cancel := afterwards(ctx)
		defer cancel()
		return nil, errors.Join(err, d.control.remove(after, m.ID))
	}
	return b, nil
}

// make gets a machine by the best way there is, and notes its id.
func (d *Driver) make(ctx context.Context, r, base records.Record, n network) (machine, records.Record, error) {
	if r.More[moreFrom] != "" {
		if m, forked, ok := d.fork(base, r); ok {
			return m, forked, nil
		}
	}
	no := false
	body := creation{
		Template: d.config.Template, Timeout: seconds(d.config.life(r)), Metadata: d.metadata(r), Internet: &no, Network: n,
	}
	body.Network.Public = &no
	if base.Name != "" {
		body.Template = base.More[moreSnapshot]
	}
	m, err := d.createOnce(ctx, body, r.Key)
	if err != nil {
		if base.Name != "" && missing(err) {
			return m, r, fmt.Errorf("base %s: %w: %w", base.Name, sandbox.ErrGone, err)
		}
		return m, r, d.config.explainCreate(err)
	}
	r.ID = m.ID
	if err := d.book.Put(r); err != nil {
		after, cancel := afterwards(ctx)
		defer cancel()
		return m, r, errors.Join(err, d.control.remove(after, m.ID))
	}
	return m, r, nil
}

// createOnce makes one sandbox. Where the answer leaves open whether there is one
// now, that one is looked for and ended before the second try.
func (d *Driver) createOnce(ctx context.Context, body creation, key string) (machine, error) {
	for try := 1; ; try++ {
		m, err := d.control.create(ctx, body)
		if err == nil && m.ID == "" {
			err = errors.New("create sandbox: the answer names no sandbox")
		}
		var p *problem
		if err == nil || unsent(err) || (errors.As(err, &p) && (p.status < http.StatusInternalServerError || p.untouched())) {
			return m, err
		}
		after, cancel := afterwards(ctx)
		reaped := d.reap(after, key)
		cancel()
		if reaped != nil || try == 2 || ctx.Err() != nil {
			return m, errors.Join(err, reaped)
		}
		if !wait(ctx, d.control.pace.first) {
			return m, err
		}
	}
}

// settle makes a machine usable: its version, its limits, its network, our places.
func (d *Driver) settle(ctx context.Context, spec sandbox.Spec, m machine, r, base records.Record) (*box, error) {
	if err := checkVersion(d.config.Template, m.Version); err != nil {
		return nil, err
	}
	if base.Name == "" {
		detail, err := d.control.get(ctx, m.ID)
		if err != nil {
			return nil, d.config.explain(err)
		}
		d.known(detail)
		if err := checkLimits(spec.Limits, detail); err != nil {
			return nil, err
		}
		r = with(r, moreSize, strconv.FormatFloat(d.config.hourly(detail.CPUs, detail.MemoryMiB), 'g', -1, 64))
	}
	if want := rules(spec.Network); r.More[moreNetwork] != want.key() {
		if err := d.control.restrict(ctx, m.ID, closed(want)); err != nil {
			return nil, d.config.explain(err)
		}
		r = with(r, moreNetwork, want.key())
	}
	b, err := d.adopt(ctx, m, with(r, moreOpening, ""), inside.Open)
	if err != nil {
		return nil, err
	}
	if err := d.book.Put(b.record); err != nil {
		b.lose()
		return nil, err
	}
	return b, nil
}

// closed are the rules of an update, which replaces all there are.
func closed(n network) network {
	no := false
	n.Internet, n.Public = &no, nil
	return n
}

// adopt makes the handle of a machine.
func (d *Driver) adopt(ctx context.Context, m machine, r records.Record,
	begin func(context.Context, inside.Remote, inside.Options) (*inside.Box, error),
) (*box, error) {
	inner := &remote{daemon: d.daemon(m), control: d.control, config: d.config, patience: d.control.pace.broke}
	in, err := begin(ctx, inner, inside.Options{Name: r.Name, Token: newKey(), User: plainUser, OOM: "vmstat", Launch: r.More[moreLaunch] != ""})
	if err != nil {
		return nil, d.templateLacks(err)
	}
	usd, err := strconv.ParseFloat(r.More[moreSize], 64)
	if err != nil {
		usd = 0 // the book of another version: better no price than no sandbox
	}
	b := &box{Box: in, driver: d, place: sandbox.Place{Driver: "e2b", ID: m.ID, HourlyUSD: usd}, daemon: inner.daemon, record: r}
	b.keepAlive()
	d.mu.Lock()
	d.live[r.Name] = b
	d.mu.Unlock()
	return b, nil
}

// templateLacks adds the fix to an error about a template without our programs.
func (d *Driver) templateLacks(err error) error {
	switch {
	case errors.Is(err, sandbox.ErrSetting):
		return fmt.Errorf("the template %q (sandbox.e2b.template): %w: build one with `yudai sandbox build e2b`", d.config.Template, err)
	case errors.Is(err, inside.ErrCut):
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return err
}

func (d *Driver) daemon(m machine) *daemon {
	e := &daemon{base: d.config.sandboxBase(m.ID, m.Domain), id: m.ID, http: d.http, rhythm: d.rhythm}
	e.setToken(m.Token)
	return e
}
