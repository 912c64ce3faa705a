package cloud

import (
	"context"
	"fmt"
	"slices"
)

// erase removes everything that a note stands for, and then the note. After an
// error the note is there, and whoever comes next goes on.
func (d *Driver) erase(ctx context.Context, n Note) error {
	return d.eraseAll(ctx, []*found{{note: n, info: n.Info()}})[n.Name]
}

// remains is what is left at the service under one name.
type remains struct {
	note      Note
	machines  []string
	snapshots []string
}

// eraseAll removes everything under many names, with as few calls as that takes. It
// returns what failed, by name.
func (d *Driver) eraseAll(ctx context.Context, all []*found) map[string]error {
	errs := map[string]error{}
	left := make([]remains, len(all))
	var ids []string
	for i, f := range all {
		left[i], errs[f.info.Name] = d.remains(ctx, f)
		ids = append(ids, left[i].machines...)
	}
	refused := d.provider.Remove(ctx, ids)
	for i, f := range all {
		err := errs[f.info.Name]
		if err == nil {
			err = d.finish(ctx, left[i], refused)
		}
		if err != nil {
			err = fmt.Errorf("remove sandbox %s: %w", f.info.Name, d.provider.Explain(err))
		}
		errs[f.info.Name] = err
	}
	return errs
}

// remains finds what there is under a name. What is about to be removed can not be
// attached to any more.
func (d *Driver) remains(ctx context.Context, f *found) (r remains, err error) {
	n := f.note
	r = remains{note: n, machines: slices.Clone(f.strays)}
	if n.ID == "" && n.Key != "" && n.Stage != Frozen {
		ids, err := d.provider.Find(ctx, &r.note)
		if err != nil {
			return remains{}, err
		}
		r.machines = append(r.machines, ids...)
	} else if n.ID != "" {
		r.machines = append(r.machines, n.ID)
	}
	if r.note.ID != "" && n.Stage != Frozen && (n.Stage != Closing || n.ID == "") {
		r.note.Stage = Closing
		if err := d.journal.Write(r.note); err != nil {
			return remains{}, err
		}
	}
	if n.Freezing != "" && n.ID != "" {
		if r.snapshots, err = d.provider.UnwantedSnapshots(ctx, n); err != nil {
			return remains{}, err
		}
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
	if r.note.Name == "" {
		return nil
	}
	return d.journal.delete(r.note.Name)
}
