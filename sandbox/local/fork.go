package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// Freeze makes a base of a sandbox by renaming its directory: nothing is
// copied, and a crash leaves either the sandbox or the base.
func (d *Driver) Freeze(_ context.Context, sb sandbox.Sandbox) (string, error) {
	b, ok := sb.(*box)
	if !ok || b.driver != d {
		return "", fmt.Errorf("freeze sandbox %s: it is not of this driver", sb.Name())
	}
	failpoint.Hit("sandbox", "freeze", "before")
	defer failpoint.Hit("sandbox", "freeze", "after")
	name := b.Name()
	if err := d.freeze(b); err != nil {
		return "", fmt.Errorf("freeze sandbox %s: %w", name, err)
	}
	return name, nil
}

func (d *Driver) freeze(b *box) error {
	name := b.Name()
	err := errors.New("it is closed")
	b.closer.Do(func() {
		b.stop()
		d.forget(b)
		err = b.settle(b.becomeBase)
	})
	if _, e := d.state.read(d.state.base(name)); e == nil {
		return nil
	}
	return goneIfMissing(err)
}

// becomeBase renames the directory, without what only a living sandbox has.
func (b *box) becomeBase() error {
	for _, name := range []string{"proxy", helperSocket, callsSocket, "data" + protocol.StateDir} {
		if err := removeTree(filepath.Join(b.dir, name)); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return rename(b.dir, b.driver.state.base(b.record.Name))
}

// Thaw removes a base. One that others are built on is kept, with an error.
func (d *Driver) Thaw(_ context.Context, base string) error {
	if sandbox.CheckName(base) != nil {
		return nil
	}
	failpoint.Hit("sandbox", "thaw", "before")
	defer failpoint.Hit("sandbox", "thaw", "after")
	users, err := d.users(base)
	if err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	if len(users) > 0 {
		return fmt.Errorf("thaw base %s: still used by %s", base, users[0])
	}
	if _, err := os.Lstat(d.state.base(base)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := d.state.remove(d.state.base(base)); err != nil {
		return fmt.Errorf("thaw base %s: %w", base, err)
	}
	return nil
}

// HasBase reports whether a base exists, from this boot, with all below it.
func (d *Driver) HasBase(_ context.Context, base string) bool {
	if sandbox.CheckName(base) != nil {
		return false
	}
	r, err := d.state.read(d.state.base(base))
	if err != nil {
		return false
	}
	for _, below := range r.Lower {
		if _, err := d.state.read(d.state.base(below)); err != nil {
			return false
		}
	}
	return true
}

// users are the sandboxes and bases whose files lie over a base.
func (d *Driver) users(base string) ([]string, error) {
	var out []string
	for _, kind := range []string{sandboxesDir, basesDir} {
		names, err := d.state.names(kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			r, err := readRecord(d.state.path(kind, name))
			if err == nil && slices.Contains(r.Lower, base) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// copyBase fills a new sandbox directory with the files of its base, where
// overlays are refused. The helper does it, with the rights that reading every
// file needs; afterwards the sandbox stands on its own.
func (d *Driver) copyBase(ctx context.Context, dir string, r *record) error {
	var files []*os.File
	defer func() { closeAll(files...) }()
	c := setup{Marker: d.state.marker(r.Name), Lower: []string{"base0"}}
	c.Sources = append(c.Sources,
		hostSource(boxName, dir, true, false, &files),
		hostSource("base0", d.state.base(r.Lower[0]), true, false, &files))
	h, _, err := startHelper(ctx, d.state.uid, c, files)
	if err != nil {
		return d.explain(err)
	}
	defer h.close()
	if _, err := h.ask(ctx, request{Op: opCopy}, nil); err != nil {
		return err
	}
	used, err := h.ask(ctx, request{Op: opUsage}, nil)
	if err != nil {
		return err
	}
	r.Floor, r.Lower = used.Number, nil
	return r.write(dir)
}
