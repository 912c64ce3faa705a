package e2b

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Freeze takes a snapshot of the sandbox, which is the base. The machine lives on
// for a while, to be forked.
func (d *Driver) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	b, ok := sb.(*box)
	if !ok || b.driver != d {
		return "", fmt.Errorf("freeze sandbox %s: it is not of this driver", sb.Name())
	}
	failpoint.Hit("sandbox", "freeze", "before")
	defer failpoint.Hit("sandbox", "freeze", "after")
	if err := d.freeze(ctx, b); err != nil {
		return "", fmt.Errorf("freeze sandbox %s: %w", b.Name(), err)
	}
	return b.Name(), nil
}

// snapshotName is what our snapshots are called.
func (d *Driver) snapshotName(key string) string { return d.snapshotPrefix() + key }

func (d *Driver) snapshotPrefix() string { return "yudai-" + d.book.Deployment() + "-" }

func (d *Driver) freeze(ctx context.Context, b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.record.Base {
		return nil
	}
	if b.over {
		return sandbox.ErrGone
	}
	if err := b.Still(ctx); err != nil {
		return err
	}
	if err := b.daemon.quiet(ctx); err != nil {
		d.log.Warn().Err(err).Str(logkey.SandboxID, b.Name()).Msg("views of old commands not ended")
	}
	name := d.snapshotName(newKey())
	leave := d.enter(name)
	defer leave()
	if err := d.book.Put(with(b.record, moreFreezing, name)); err != nil {
		return err
	}
	s, err := d.control.snap(ctx, b.record.ID, name)
	if err == nil && s.ID == "" {
		err = errors.New("freeze sandbox: the answer names no snapshot")
	}
	if err != nil {
		return d.unfrozen(ctx, b.record, name, err)
	}
	base := with(b.record, moreSnapshot, s.ID)
	base.Base = true
	if err := d.book.Put(base); err != nil {
		after, cancel := afterwards(ctx)
		defer cancel()
		return errors.Join(err, d.control.forget(after, s.ID))
	}
	b.record, b.over = base, true
	d.keepSource(base)
	b.quit()
	return nil
}

// unfrozen cleans up after a snapshot that was not made, or perhaps was, and says why.
func (d *Driver) unfrozen(ctx context.Context, r records.Record, name string, err error) error {
	after, cancel := afterwards(ctx)
	defer cancel()
	var cleaned error
	if !refusedAtOnce(err) {
		cleaned = d.reapSnapshots(after, r.ID, name)
	}
	if cleaned == nil {
		cleaned = d.book.Put(r) // it is not being frozen any more
	}
	switch status(err) {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return errors.Join(fmt.Errorf("%w: %w", errors.ErrUnsupported, err), cleaned)
	case http.StatusNotFound:
		_, look := d.control.get(after, r.ID)
		if look == nil {
			return errors.Join(fmt.Errorf("%w: %w", errors.ErrUnsupported, err), cleaned)
		}
		if status(look) == http.StatusNotFound {
			return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
		}
	}
	return errors.Join(d.config.explain(err), cleaned)
}

// refusedAtOnce reports an answer that promises that there is no snapshot.
func refusedAtOnce(err error) bool {
	var p *problem
	return unsent(err) || (errors.As(err, &p) && (p.status < http.StatusInternalServerError || p.untouched()))
}

// keepSource lets the parent of a base be forked.
func (d *Driver) keepSource(base records.Record) {
	s := &source{base: base, stopped: make(chan struct{}), ended: make(chan struct{}), forked: make(chan struct{})}
	d.mu.Lock()
	d.sources[base.Name] = s
	d.mu.Unlock()
	go d.nurse(s)
}

// Thaw removes a base: its parent and its snapshot.
func (d *Driver) Thaw(ctx context.Context, base string) error {
	failpoint.Hit("sandbox", "thaw", "before")
	defer failpoint.Hit("sandbox", "thaw", "after")
	if sandbox.CheckName(base) != nil {
		return nil
	}
	r, err := d.book.Get(base)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !r.Base) {
		return nil
	}
	if err == nil {
		err = d.thaw(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	return nil
}

func (d *Driver) thaw(ctx context.Context, r records.Record) error {
	d.still(r.Name)
	if err := d.control.remove(ctx, r.ID); err != nil {
		return d.config.explain(err)
	}
	err := d.control.forget(ctx, r.More[moreSnapshot])
	if status(err) == http.StatusBadRequest { // something is based on it: parents of bases made from it are of little use
		if err = d.orphanBases(ctx, r.Name); err == nil {
			err = d.control.forget(ctx, r.More[moreSnapshot])
		}
	}
	if err != nil {
		return d.config.explain(err)
	}
	return d.book.Delete(r.Name)
}

// orphanBases ends the parents of the bases that were made from a base. Their
// snapshots stay.
func (d *Driver) orphanBases(ctx context.Context, base string) error {
	all, err := d.book.All()
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range all {
		if r.Base && r.More[moreFrom] == base {
			d.still(r.Name)
			problems = append(problems, d.control.remove(ctx, r.ID))
		}
	}
	return errors.Join(problems...)
}

// HasBase reports whether a base is there, at the service, too. Where that does
// not answer, the book counts.
func (d *Driver) HasBase(ctx context.Context, base string) bool {
	r, err := d.base(base)
	if err != nil {
		return false
	}
	for _, of := range []string{r.ID, ""} { // those of its parent, which may be gone, then all
		all, err := d.control.snapshots(ctx, of)
		if err != nil && !missing(err) {
			return true
		}
		if slices.ContainsFunc(all, func(s snapshot) bool { return s.ID == r.More[moreSnapshot] }) {
			return true
		}
	}
	return false
}

// named reports whether a snapshot has a name that begins so.
func (s snapshot) named(prefix string) bool {
	for _, n := range append([]string{s.ID}, s.Names...) {
		n = n[strings.LastIndex(n, "/")+1:]
		if strings.HasPrefix(n, prefix) {
			return true
		}
	}
	return false
}
