package e2b

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Sweep ends what nobody wants to keep, and what the service has of this
// deployment and no record names. It does not conclude from a list that something
// died: one that is being forked or frozen is missing there.
func (d *Driver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	failpoint.Hit("sandbox", "sweep", "before")
	defer failpoint.Hit("sandbox", "sweep", "after")
	first, err := d.book.All()
	if err != nil {
		return nil, fmt.Errorf("sweep sandboxes: %w", err)
	}
	problems := []error{d.sweepNobodys(ctx)}
	failpoint.Hit("sandbox", "sweep", "listed")
	gone, needed := d.choose(first, keep)
	var names []string
	for _, r := range gone {
		if r.Base && needed[r.Name] {
			continue
		}
		if err := d.end(ctx, r); err != nil {
			problems = append(problems, fmt.Errorf("sweep %s: %w", r.Name, err))
			continue
		}
		names = append(names, r.Name)
		d.log.Info().Str(logkey.SandboxID, r.Name).Msg("sandbox swept")
	}
	return names, errors.Join(problems...)
}

// choose asks about every record that no call is busy with. What it returns goes,
// the dependent before what it depends on; needed are the bases of what stays.
func (d *Driver) choose(all []records.Record, keep func(sandbox.Info) bool) (gone []records.Record, needed map[string]bool) {
	needed = map[string]bool{}
	from := map[string]string{}
	for _, r := range all {
		from[r.Name] = r.More[moreFrom]
		d.mu.Lock()
		busy := d.taken[r.Name]
		d.mu.Unlock()
		if busy || keep(info(r)) {
			needed[r.More[moreFrom]] = true
			continue
		}
		gone = append(gone, r)
	}
	slices.SortStableFunc(gone, func(a, b records.Record) int { return depth(from, b.Name) - depth(from, a.Name) })
	return gone, needed
}

// depth is how many bases are below a name.
func depth(from map[string]string, name string) int {
	n := 0
	for from[name] != "" && n < len(from) {
		name = from[name]
		n++
	}
	return n
}

// end ends a sandbox or base, whoever owns it.
func (d *Driver) end(ctx context.Context, r records.Record) error {
	now, err := d.book.Get(r.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && now.ID != r.ID:
		return nil // it ended meanwhile, or is another one of the same name
	case err != nil:
		return err
	case now.Base:
		return d.thaw(ctx, now)
	}
	if b := d.alive(r.Name); b != nil {
		return b.Close(ctx)
	}
	if r.ID != "" {
		if err := d.control.remove(ctx, r.ID); err != nil {
			return d.config.explain(err)
		}
	}
	return d.book.Delete(r.Name)
}

// sweepNobodys ends what the service has of us and no record names: what a call
// made whose answer nobody lived to read. It lists first and looks afterwards at
// the calls under way and at the records, in this order: a call notes what it
// made before it is over.
func (d *Driver) sweepNobodys(ctx context.Context) error {
	machines, err := d.control.list(ctx, map[string]string{metaDeployment: d.book.Deployment()})
	if err != nil {
		return fmt.Errorf("sweep sandboxes: %w", d.config.explain(err))
	}
	snapshots, err := d.control.snapshots(ctx, "")
	if err != nil && !missing(err) { // a server without snapshots has none of ours
		return fmt.Errorf("sweep sandboxes: %w", d.config.explain(err))
	}
	calls := d.underway()
	var problems []error
	problems = append(problems, d.endNobodys(ctx, machines, func(m machine) bool { return calls[m.Metadata[metaCall]] > 0 }))
	all, err := d.book.All()
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	for _, s := range snapshots {
		noted := slices.ContainsFunc(all, func(r records.Record) bool { return r.More[moreSnapshot] == s.ID })
		if s.named(d.snapshotPrefix()) && !s.under(calls) && !noted {
			problems = append(problems, d.control.forget(ctx, s.ID))
		}
	}
	for _, r := range all {
		problems = append(problems, d.tidy(ctx, r, calls, machines))
	}
	return errors.Join(problems...)
}

// under reports that a call under way is making this snapshot.
func (s snapshot) under(calls map[string]int) bool {
	for name := range calls {
		if strings.Contains(name, "-") && s.named(name) { // the other keys have no hyphen
			return true
		}
	}
	return false
}

// tidy finishes what a dead owner left half done with something that has a record.
func (d *Driver) tidy(ctx context.Context, r records.Record, calls map[string]int, machines []machine) error {
	if name := r.More[moreFreezing]; name != "" && !r.Base && calls[name] == 0 && d.alive(r.Name) == nil {
		return d.reapSnapshots(ctx, r.ID, name)
	}
	d.mu.Lock()
	source := d.sources[r.Name]
	d.mu.Unlock()
	if !r.Base || source != nil {
		return nil
	}
	for _, m := range machines {
		if m.ID == r.ID && m.State != paused { // a parent that nobody is going to fork any more
			if err := d.control.pause(ctx, m.ID); err != nil {
				d.log.Warn().Err(err).Str(logkey.SandboxID, r.Name).Msg("parent of a base not resting, its lease ends it")
			}
		}
	}
	return nil
}

// underway are the keys of the calls under way.
func (d *Driver) underway() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

// endNobodys ends the machines that no record names and nobody has open, but not
// those that are spared.
func (d *Driver) endNobodys(ctx context.Context, machines []machine, spared func(machine) bool) error {
	all, err := d.book.All()
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, r := range all {
		named[r.ID] = true
	}
	var problems []error
	for _, m := range machines {
		if m.Metadata[metaDeployment] != d.book.Deployment() || named[m.ID] || spared(m) || d.holds(m.ID) {
			continue
		}
		if err := d.control.remove(ctx, m.ID); err != nil {
			problems = append(problems, err)
			continue
		}
		d.log.Info().Str(logkey.SandboxID, m.Metadata[metaName]).Msg("sandbox without a record ended")
	}
	return errors.Join(problems...)
}

// holds reports that we have that machine open.
func (d *Driver) holds(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.live {
		if b.place.ID == id {
			return true
		}
	}
	return false
}

// reap ends what a call of ours made whose answer was lost.
func (d *Driver) reap(ctx context.Context, key string) error {
	machines, err := d.control.list(ctx, map[string]string{metaCall: key})
	if err != nil {
		return err
	}
	if d.underway()[key] > 1 { // another call of that key may be noting what it made: Sweep looks later
		return nil
	}
	return d.endNobodys(ctx, machines, func(machine) bool { return false })
}

// reapSnapshots deletes the snapshots of a sandbox that no record names.
func (d *Driver) reapSnapshots(ctx context.Context, of, name string) error {
	found, err := d.control.snapshots(ctx, of)
	if missing(err) { // the sandbox is gone; what has our name is found among all
		return nil
	}
	if err != nil {
		return err
	}
	all, err := d.book.All()
	if err != nil {
		return err
	}
	var problems []error
	for _, s := range found {
		noted := slices.ContainsFunc(all, func(r records.Record) bool { return r.More[moreSnapshot] == s.ID })
		if !noted && (s.named(name) || len(s.Names) == 0) {
			problems = append(problems, d.control.forget(ctx, s.ID))
		}
	}
	return errors.Join(problems...)
}
