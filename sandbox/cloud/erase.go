package cloud

import (
	"context"
	"fmt"
)

// erase removes everything that a note stands for, and then the note. After an
// error the note is there, and whoever comes next goes on.
func (d *Driver) erase(ctx context.Context, n Note) error {
	return d.eraseAll(ctx, []Note{n})[n.Name]
}

// remains is what a note stands for at the service.
type remains struct {
	note      Note
	machines  []string
	snapshots []string
}

// eraseAll is erase for many, with as few calls as that takes. It returns what failed, by name.
func (d *Driver) eraseAll(ctx context.Context, notes []Note) map[string]error {
	failed := map[string]error{}
	fail := func(name string, err error) {
		failed[name] = fmt.Errorf("remove sandbox %s: %w", name, d.provider.Explain(err))
	}
	var all []remains
	var ids []string
	for _, n := range notes {
		r, err := d.remains(ctx, n)
		if err != nil {
			fail(n.Name, err)
			continue
		}
		all = append(all, r)
		ids = append(ids, r.machines...)
	}
	refused := d.provider.Remove(ctx, ids)
	for _, r := range all {
		if err := d.finish(ctx, r, refused); err != nil {
			fail(r.note.Name, err)
		}
	}
	return failed
}

// remains finds what a note stands for. What is about to be removed can not be
// attached to any more.
func (d *Driver) remains(ctx context.Context, n Note) (remains, error) {
	r := remains{note: n}
	if n.ID == "" && n.Key != "" && n.Stage != Frozen {
		ids, err := d.provider.Find(ctx, &r.note)
		if err != nil {
			return r, err
		}
		r.machines = ids
	} else if n.ID != "" {
		r.machines = []string{n.ID}
	}
	if r.note.ID != "" && n.Stage != Frozen && (n.Stage != Closing || n.ID == "") {
		r.note.Stage = Closing
		if err := d.journal.Write(r.note); err != nil {
			return r, err
		}
	}
	if n.Freezing != "" && n.ID != "" {
		unwanted, err := d.provider.UnwantedSnapshots(ctx, n)
		if err != nil {
			return r, err
		}
		r.snapshots = unwanted
	}
	if n.Snapshot != "" {
		r.snapshots = append(r.snapshots, n.Snapshot)
	}
	return r, nil
}

// finish removes what is left after the machines: the snapshots, and the note.
func (d *Driver) finish(ctx context.Context, r remains, refused map[string]error) error {
	for _, id := range r.machines {
		if err := refused[id]; err != nil {
			return err
		}
	}
	for _, id := range r.snapshots { // after the machine: some services hold them for a machine that runs
		if err := d.provider.RemoveSnapshot(ctx, r.note, id); err != nil {
			return err
		}
	}
	return d.journal.delete(r.note.Name)
}
