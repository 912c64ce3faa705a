package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

// found is one name that something exists under.
type found struct {
	info   sandbox.Info
	note   Note     // zero if there is none
	strays []string // machines of that name that no note knows: nobody can use them
}

// unfinished reports whether something under a name that is kept has to go, or to rest.
func (f *found) unfinished() bool {
	return f.note.Stage == Closing || f.note.Stage == Frozen && f.note.ID != "" || f.note.Name != "" && len(f.strays) > 0
}

// Sweep removes what nobody wants to keep, and whatever was about to be removed. It
// never concludes from a list that something is gone: a machine that is being
// frozen may be missing there.
func (d *Driver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	failpoint.Hit("sandbox", "sweep", "before")
	defer failpoint.Hit("sandbox", "sweep", "after")
	s, err := d.survey(ctx)
	if err != nil {
		return nil, fmt.Errorf("sweep sandboxes: %w", err)
	}
	failpoint.Hit("sandbox", "sweep", "listed")
	var gone, kept []*found
	for _, f := range s.all {
		if !keep(f.info) {
			gone = append(gone, f)
			continue
		}
		s.needed[f.note.Parent] = true
		if f.unfinished() {
			kept = append(kept, f)
		}
	}
	gone = slices.DeleteFunc(gone, func(f *found) bool { return f.info.Base && s.needed[f.info.Name] })
	names, err := d.removeAll(ctx, gone)
	for _, id := range s.snapshots {
		err = errors.Join(err, d.provider.Explain(d.provider.RemoveSnapshot(ctx, Note{}, id)))
	}
	if err = errors.Join(err, d.finishAll(ctx, kept)); err != nil {
		err = fmt.Errorf("sweep sandboxes: %w", err)
	}
	return names, err
}

// survey is what there is.
type survey struct {
	all       []*found
	needed    map[string]bool // the bases of what is kept
	snapshots []string        // those that no note knows
}

// survey asks the service first, then looks at the calls under way, then at the
// notes, in this order: a call notes what it made before it is over. What is just
// being made or removed is left out.
func (d *Driver) survey(ctx context.Context) (survey, error) {
	machines, snapshots, err := d.provider.List(ctx)
	if err != nil {
		return survey{}, d.provider.Explain(err)
	}
	busy := d.journal.busy()
	notes, err := d.journal.All()
	if err != nil {
		return survey{}, err
	}
	s := survey{needed: map[string]bool{}}
	known := map[string]bool{} // ids of machines and snapshots, and names of snapshots that are being made
	byName := map[string]*found{}
	for _, n := range notes {
		known[n.ID], known[n.Snapshot] = true, true
		if busy[n.Name] {
			known[n.Freezing], s.needed[n.Parent] = true, true
		}
		byName[n.Name] = &found{note: n, info: n.Info()}
		s.all = append(s.all, byName[n.Name])
	}
	for _, m := range machines {
		f := byName[m.Name]
		if f == nil {
			f = &found{info: sandbox.Info{Name: m.Name, Labels: m.Labels, Created: m.Created}}
			byName[m.Name] = f
			s.all = append(s.all, f)
		}
		if !known[m.ID] && (f.note.Stage != Opening || f.note.ID != "") { // whoever removes such a note looks for what it made
			f.strays = append(f.strays, m.ID)
		}
	}
	for _, p := range snapshots {
		if !known[p.ID] && !known[p.Name] {
			s.snapshots = append(s.snapshots, p.ID)
		}
	}
	s.all = slices.DeleteFunc(s.all, func(f *found) bool { return busy[f.info.Name] })
	slices.SortStableFunc(s.all, dependentsFirst)
	return s, nil
}

// dependentsFirst orders bases last, and of these the newest first: it may depend on an older one.
func dependentsFirst(a, b *found) int {
	rank := map[bool]int{true: 1}
	return cmp.Or(
		cmp.Compare(rank[a.info.Base], rank[b.info.Base]),
		rank[a.info.Base]*b.info.Created.Compare(a.info.Created),
		cmp.Compare(a.info.Name, b.info.Name),
	)
}

// removeAll removes everything under these names and returns them.
func (d *Driver) removeAll(ctx context.Context, gone []*found) ([]string, error) {
	var held []*found
	for _, f := range gone {
		release, ok := d.holdFound(f)
		if !ok {
			continue
		}
		defer release() // all together, at the end: they are removed together
		held = append(held, f)
		if h := d.newest(f.info.Name); h != nil && f.note.Name != "" {
			d.forget(h, nil)
		}
	}
	failed := d.eraseAll(ctx, held)
	var names []string
	var problems []error
	for _, f := range held {
		if err := failed[f.info.Name]; err != nil {
			problems = append(problems, err)
			continue
		}
		names = append(names, f.info.Name)
		d.log.Info().Str(logkey.SandboxID, f.info.Name).Msg("sandbox swept")
	}
	return names, errors.Join(problems...)
}

// holdFound locks a name, unless something else than what was listed is under it by now.
func (d *Driver) holdFound(f *found) (release func(), ok bool) {
	release, ok = d.journal.TryLock(f.info.Name)
	if !ok {
		return nil, false
	}
	n, err := d.journal.Read(f.info.Name)
	if f.note.Name == "" {
		ok = errors.Is(err, sandbox.ErrGone)
	} else {
		ok = err == nil && n.Key == f.note.Key && n.Stage == f.note.Stage && n.ID == f.note.ID
	}
	if !ok {
		release()
		return nil, false
	}
	f.note = n
	return release, true
}

// finishAll goes on with what was begun under names that are kept.
func (d *Driver) finishAll(ctx context.Context, kept []*found) error {
	var problems []error
	for _, f := range kept {
		release, ok := d.holdFound(f)
		if !ok {
			continue
		}
		if f.note.Stage == Closing {
			problems = append(problems, d.eraseAll(ctx, []*found{f})[f.info.Name])
		} else {
			if f.note.Stage == Frozen {
				problems = append(problems, d.parent(ctx, f.note, false))
			}
			for _, err := range d.provider.Remove(ctx, f.strays) {
				problems = append(problems, d.provider.Explain(err))
			}
		}
		release()
	}
	return errors.Join(problems...)
}
