package prime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

// found is one name that something exists under.
type found struct {
	info   sandbox.Info
	note   note     // zero if there is none
	id     string   // of the sandbox that goes with the note, if any is known
	strays []string // other sandboxes of that name, which nobody can use
}

// Sweep removes what nobody wants to keep, and whatever was about to be removed.
func (d *Driver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	failpoint.Hit("sandbox", "sweep", "before")
	defer failpoint.Hit("sandbox", "sweep", "after")
	all, err := d.survey(ctx)
	if err != nil {
		return nil, fmt.Errorf("sweep sandboxes: %w", err)
	}
	failpoint.Hit("sandbox", "sweep", "listed")
	var gone, quiet []*found
	needed := map[string]bool{}
	for _, f := range all {
		switch kept := keep(f.info); {
		case !kept:
			gone = append(gone, f)
		case f.note.Stage == stageClosing || f.note.Stage == stageFrozen && f.note.ID != "" || len(f.strays) > 0:
			quiet = append(quiet, f)
			fallthrough
		default:
			needed[f.note.Parent] = true
		}
	}
	gone = slices.DeleteFunc(gone, func(f *found) bool { return f.info.Base && needed[f.info.Name] })
	names, err := d.remove(ctx, gone)
	if err = errors.Join(err, d.tidy(ctx, quiet)); err != nil {
		err = fmt.Errorf("sweep sandboxes: %w", err)
	}
	return names, err
}

// survey lists what exists. The service comes first: what it knows was noted before.
// What is just being made or removed is left out.
func (d *Driver) survey(ctx context.Context) ([]*found, error) {
	objects, err := d.control.list(ctx, labelAll, labelDeployment+d.book.Deployment())
	if err != nil {
		return nil, d.config.explain(err)
	}
	records, err := d.book.All()
	if err != nil {
		return nil, err
	}
	byName := map[string]*found{}
	var all []*found
	for _, r := range records {
		n := unpack(r)
		f := &found{note: n, id: n.ID, info: sandbox.Info{Name: n.Name, Labels: n.Labels, Base: n.Stage == stageFrozen, Created: n.Created}}
		byName[n.Name] = f
		all = append(all, f)
	}
	for _, o := range objects {
		name, of := labelled(o)
		f := byName[name]
		switch {
		case f == nil:
			f = &found{info: sandbox.Info{Name: name, Labels: of, Created: o.CreatedAt.Time}, strays: []string{o.ID}}
			byName[name] = f
			all = append(all, f)
		case f.note.Name == "" || f.note.Stage == stageFrozen && f.id != o.ID || f.id != "" && f.id != o.ID:
			f.strays = append(f.strays, o.ID)
		}
	}
	all = slices.DeleteFunc(all, func(f *found) bool { return d.busy(f.info.Name) })
	slices.SortStableFunc(all, func(a, b *found) int { // what others stand on comes last
		if a.info.Base != b.info.Base {
			if a.info.Base {
				return 1
			}
			return -1
		}
		if a.info.Base && a.info.Created != b.info.Created {
			return b.info.Created.Compare(a.info.Created)
		}
		return strings.Compare(a.info.Name, b.info.Name)
	})
	return all, nil
}

// remove removes everything under these names and returns them.
func (d *Driver) remove(ctx context.Context, gone []*found) ([]string, error) {
	var notes []note
	var names, strays []string
	for _, f := range gone {
		release, ok := d.hold(f)
		if !ok {
			continue
		}
		defer release() // all together, at the end: they are removed together
		names = append(names, f.info.Name)
		strays = append(strays, f.strays...)
		if f.note.Name == "" {
			continue
		}
		notes = append(notes, f.note)
		if b := d.newest(f.info.Name); b != nil {
			b.End(nil)
			b.done = true
			d.forget(b)
		}
	}
	failed := d.eraseAll(ctx, notes)
	refused := d.control.removeMany(ctx, strays)
	var problems []error
	for _, f := range gone {
		err := failed[f.info.Name]
		for _, id := range f.strays {
			err = errors.Join(err, d.config.explain(refused[id]))
		}
		if err != nil {
			problems = append(problems, err)
			names = slices.DeleteFunc(names, func(n string) bool { return n == f.info.Name })
		}
	}
	for _, name := range names {
		d.log.Info().Str(logkey.SandboxID, name).Msg("sandbox swept")
	}
	return names, errors.Join(problems...)
}

// hold locks a name, unless something else than what was listed is under it by now.
func (d *Driver) hold(f *found) (release func(), ok bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	release, err := d.lock(ctx, f.info.Name)
	if err != nil {
		return nil, false
	}
	n, err := d.read(f.info.Name)
	same := errors.Is(err, fs.ErrNotExist) && f.note.Name == "" || err == nil && n.Key == f.note.Key && n.Stage == f.note.Stage && f.note.Name != ""
	if !same {
		release()
		return nil, false
	}
	f.note = n
	return release, true
}

// tidy goes on with removals that were begun, under names that are kept.
func (d *Driver) tidy(ctx context.Context, all []*found) error {
	var problems []error
	for _, f := range all {
		release, ok := d.hold(f)
		if !ok {
			continue
		}
		var err error
		switch f.note.Stage {
		case stageClosing:
			err = d.erase(ctx, f.note)
		case stageFrozen:
			err = d.finishFrozen(ctx, f.note)
		}
		if f.note.Name != "" {
			for _, e := range d.control.removeMany(ctx, f.strays) {
				err = errors.Join(err, d.config.explain(e))
			}
		}
		release()
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
