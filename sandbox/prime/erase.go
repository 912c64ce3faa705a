package prime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// erase removes everything that a note stands for, and then the note. After an
// error the note is there, and whoever comes next goes on.
func (d *Driver) erase(ctx context.Context, n note) error {
	return d.eraseAll(ctx, []note{n})[n.Name]
}

// remains is what a note stands for at the service.
type remains struct {
	note        note
	sandboxes   []string
	checkpoints []string
}

// eraseAll is erase for many, with as few calls as that takes. It returns what failed, by name.
func (d *Driver) eraseAll(ctx context.Context, notes []note) map[string]error {
	failed := map[string]error{}
	var all []remains
	var ids []string
	for _, n := range notes {
		r, err := d.remains(ctx, n)
		if err != nil {
			failed[n.Name] = fmt.Errorf("remove sandbox %s: %w", n.Name, d.config.explain(err))
			continue
		}
		all = append(all, r)
		ids = append(ids, r.sandboxes...)
	}
	refused := d.control.removeMany(ctx, ids)
	for _, r := range all {
		if err := d.finish(ctx, r, refused); err != nil {
			failed[r.note.Name] = fmt.Errorf("remove sandbox %s: %w", r.note.Name, d.config.explain(err))
		}
	}
	return failed
}

// finish removes what is left after the sandboxes: checkpoints, and the note.
func (d *Driver) finish(ctx context.Context, r remains, refused map[string]error) error {
	for _, id := range r.sandboxes {
		d.gateway.forget(id)
		if err := refused[id]; err != nil {
			return err
		}
	}
	for _, id := range r.checkpoints { // after the sandbox: the newest of a running one is refused
		if err := d.control.dropCheckpoint(ctx, id); err != nil {
			return err
		}
	}
	return d.book.Delete(r.note.Name)
}

// remains finds what a note stands for. What is about to be removed can not be
// attached to any more.
func (d *Driver) remains(ctx context.Context, n note) (remains, error) {
	r := remains{note: n}
	if n.Stage != stageFrozen && n.Stage != stageClosing && n.ID != "" {
		r.note.Stage = stageClosing
		if err := d.write(r.note); err != nil {
			return r, err
		}
	}
	switch {
	case n.ID != "":
		r.sandboxes = []string{n.ID}
	case n.Key != "" && n.Stage != stageFrozen:
		if err := d.find(ctx, &r); err != nil {
			return r, err
		}
	}
	if n.Checkpoint != "" {
		r.checkpoints = []string{n.Checkpoint}
	}
	if n.ID == "" || !n.Freezing {
		return r, nil
	}
	made, err := d.control.checkpoints(ctx, n.ID)
	if err != nil && !notOffered(err) {
		return r, err
	}
	r.checkpoints = append(r.checkpoints, unwanted(made, n)...)
	return r, nil
}

// find looks for a sandbox whose making was not seen to its end: by its labels, or by
// asking once more with the same key, which gives the same one, or a new one that
// nobody else has.
func (d *Driver) find(ctx context.Context, r *remains) error {
	n := &r.note
	found, err := d.control.list(ctx, labelAll, labelDeployment+d.book.Deployment(), labelName+n.Name)
	if err != nil {
		return err
	}
	for _, o := range found {
		r.sandboxes = append(r.sandboxes, o.ID)
	}
	if len(found) > 0 || time.Since(n.Created) > memory || n.Request.IdempotencyKey == "" {
		return nil
	}
	o, err := d.control.create(ctx, n.Request)
	if err != nil {
		if certain(err) {
			return nil // it is refused now, and so it was then
		}
		return err
	}
	n.ID, n.Stage, r.sandboxes = o.ID, stageClosing, []string{o.ID}
	return d.write(*n)
}

// certain reports whether a refusal to make a sandbox tells that an earlier call with
// the same key made none, either.
func certain(err error) bool {
	var vague *doubtful
	s := statusOf(err)
	return !errors.As(err, &vague) && s >= 400 && s < 500 && !slices.Contains([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests,
	}, s)
}
