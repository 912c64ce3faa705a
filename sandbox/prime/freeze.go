package prime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
)

// Freeze makes a checkpoint of a sandbox and deletes the sandbox.
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

func (d *Driver) freeze(ctx context.Context, b *box) error {
	release, err := d.lock(ctx, b.Name())
	if err != nil {
		return err
	}
	defer release()
	n, own, err := d.owned(b.Name(), b.owner)
	switch {
	case err != nil:
		return err
	case own && n.Stage == stageFrozen:
		return nil
	case !own || b.done:
		return sandbox.ErrGone
	case !d.forks():
		return d.notOffered()
	}
	if err := b.Still(ctx); err != nil {
		return err
	}
	p, err := d.capture(ctx, b, &n)
	if err != nil {
		return err
	}
	n.Stage, n.Checkpoint = stageFrozen, p.ID
	if err := d.write(n); err != nil { // from here on it is a base
		return err
	}
	b.End(fmt.Errorf("sandbox %s is frozen: %w", b.Name(), sandbox.ErrGone))
	b.done = true
	d.forget(b)
	if err := d.finishFrozen(ctx, n); err != nil {
		d.log.Warn().Str(logkey.SandboxID, b.Name()).Err(err).Msg("frozen sandbox not removed, it will be swept")
	}
	return nil
}

// finishFrozen deletes the sandbox that a base was made of, and the checkpoints of
// earlier attempts: as long as the sandbox runs its newest one cannot be deleted.
func (d *Driver) finishFrozen(ctx context.Context, n note) error {
	if n.ID == "" {
		return nil
	}
	if err := d.control.remove(ctx, n.ID); err != nil {
		return d.config.explain(err)
	}
	d.gateway.forget(n.ID)
	if n.Freezing {
		made, err := d.control.checkpoints(ctx, n.ID)
		if err != nil && !notOffered(err) {
			return d.config.explain(err)
		}
		for _, p := range unwanted(made, n) {
			if err := d.control.dropCheckpoint(ctx, p); err != nil {
				return d.config.explain(err)
			}
		}
	}
	n.ID, n.Freezing = "", false
	return d.write(n)
}

// unwanted are the checkpoints of a note's sandbox but the one it is for, the newest first.
func unwanted(made []point, n note) []string {
	slices.SortStableFunc(made, func(a, b point) int { return b.CreatedAt.Compare(a.CreatedAt.Time) })
	var ids []string
	for _, p := range made {
		if p.SandboxID == n.ID && p.ID != n.Checkpoint {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// notOffered says that there are no checkpoints.
func (d *Driver) notOffered() error {
	return fmt.Errorf("checkpoints are not offered, or off in %scheckpoints: %w", section, errors.ErrUnsupported)
}

// capture makes a checkpoint that can be restored, of files that are all on the disk.
func (d *Driver) capture(ctx context.Context, b *box, n *note) (point, error) {
	before := map[string]bool{} // of attempts that failed
	again := n.Freezing
	if again {
		made, err := d.control.checkpoints(ctx, n.ID)
		if err != nil {
			return point{}, d.refusedPoint(ctx, n, err)
		}
		for _, p := range made {
			before[p.ID] = true
		}
	}
	n.Freezing = true
	if err := d.write(*n); err != nil { // before the call that it is about
		return point{}, err
	}
	if err := b.sync(ctx); err != nil {
		return point{}, err
	}
	p, err := d.takePoint(ctx, n.ID, before)
	if err != nil {
		return p, d.refusedPoint(ctx, n, err)
	}
	if p, err = d.control.settled(ctx, p); err != nil {
		return p, d.config.explain(err)
	}
	n.Freezing = again
	return p, nil
}

// sync has the machine write everything to its disk.
func (b *box) sync(ctx context.Context) error {
	code, err := b.machine.Run(ctx, inside.Process{Argv: []string{"/bin/bash", "-c", "sync"}, Root: true}, func(bool, []byte) {})
	if err == nil && code != 0 {
		err = fmt.Errorf("sync: exit %d", code)
	}
	return err
}

// takePoint takes a checkpoint. Where the answer is lost it looks for one before it asks again.
func (d *Driver) takePoint(ctx context.Context, id string, before map[string]bool) (point, error) {
	const tries = 3
	for try := 1; ; try++ {
		p, err := d.control.take(ctx, id)
		if err == nil || !transient(err) || try == tries || ctx.Err() != nil {
			return p, err
		}
		made, e := d.control.checkpoints(ctx, id)
		if e != nil {
			return p, err
		}
		for _, p := range made {
			if p.SandboxID == id && !p.State.lost() && !before[p.ID] {
				return p, nil
			}
		}
	}
}

// refusedPoint explains why there is no checkpoint. Where the service knows the sandbox
// and not its checkpoints, it does not offer them.
func (d *Driver) refusedPoint(ctx context.Context, n *note, err error) error {
	if !notOffered(err) {
		return d.config.explain(err)
	}
	o, e := d.control.get(ctx, n.ID)
	switch {
	case isGone(e) || e == nil && o.Status.ended():
		return sandbox.ErrGone
	case e != nil:
		return d.config.explain(e)
	}
	if !d.unable.Swap(true) {
		d.log.Warn().Str(logkey.SandboxID, n.Name).Msg("no checkpoints are offered: every sandbox is prepared by itself")
	}
	return d.notOffered()
}

// Thaw deletes a base.
func (d *Driver) Thaw(ctx context.Context, base string) error {
	if sandbox.CheckName(base) != nil {
		return nil
	}
	failpoint.Hit("sandbox", "thaw", "before")
	defer failpoint.Hit("sandbox", "thaw", "after")
	release, err := d.lock(ctx, base)
	if err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	defer release()
	n, err := d.read(base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && n.Stage != stageFrozen {
		return nil
	}
	if err == nil {
		err = d.erase(ctx, n)
	}
	if err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	return nil
}

// HasBase reports whether a base can be restored. Where the service does not answer,
// what is noted counts.
func (d *Driver) HasBase(ctx context.Context, base string) bool {
	if sandbox.CheckName(base) != nil {
		return false
	}
	n, err := d.read(base)
	if err != nil || n.Stage != stageFrozen {
		return false
	}
	p, err := d.control.checkpoint(ctx, n.Checkpoint)
	if err != nil {
		return !isGone(err)
	}
	return !p.State.lost()
}
