package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

func (s *state) path(kind, name string) string { return filepath.Join(s.dir, kind, name) }

// found is one sandbox or base on disk.
type found struct {
	kind   string
	info   sandbox.Info
	record record
}

// Sweep removes what nobody wants to keep. A base stays while something that
// is kept is built on it.
func (d *Driver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	failpoint.Hit("sandbox", "sweep", "before")
	defer failpoint.Hit("sandbox", "sweep", "after")
	all, err := d.list()
	if err != nil {
		return nil, fmt.Errorf("sweep sandboxes: %w", err)
	}
	failpoint.Hit("sandbox", "sweep", "listed")
	var gone []found
	needed := make(map[string]bool)
	for _, f := range all {
		if !keep(f.info) {
			gone = append(gone, f)
			continue
		}
		for _, base := range f.record.Lower {
			needed[base] = true
		}
	}
	var names []string
	var problems []error
	for _, f := range gone {
		if f.kind == basesDir && needed[f.info.Name] {
			continue
		}
		if err := d.sweepOne(ctx, f); err != nil {
			problems = append(problems, fmt.Errorf("sweep %s: %w", f.info.Name, err))
			continue
		}
		names = append(names, f.info.Name)
		d.log.Info().Str(logkey.SandboxID, f.info.Name).Msg("sandbox swept")
	}
	problems = append(problems, d.sweepHalves(), d.sweepGroups(), d.sweepPrograms())
	return names, errors.Join(problems...)
}

// list returns all sandboxes, then all bases, with the dependent before those
// they depend on.
func (d *Driver) list() ([]found, error) {
	var out []found
	for _, kind := range []string{sandboxesDir, basesDir} {
		names, err := d.state.names(kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			f := found{kind: kind, info: sandbox.Info{Name: name, Base: kind == basesDir}}
			if r, err := readRecord(d.state.path(kind, name)); err == nil {
				f.info.Labels, f.info.Created, f.record = r.Labels, r.Created, r
			}
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b found) int {
		if a.kind != b.kind {
			return -strings.Compare(a.kind, b.kind) // "sandboxes" first
		}
		return len(b.record.Lower) - len(a.record.Lower)
	})
	return out, nil
}

// sweepOne removes one, whoever owns it.
func (d *Driver) sweepOne(ctx context.Context, f found) error {
	if f.kind == basesDir {
		return d.state.remove(d.state.base(f.info.Name))
	}
	d.mu.Lock()
	b := d.live[f.info.Name]
	d.mu.Unlock()
	if b != nil {
		return b.Close(ctx)
	}
	return d.discard(ctx, f.info.Name, f.record)
}

// sweepHalves removes what a crash left half made or half removed.
func (d *Driver) sweepHalves() error {
	var problems []error
	making, err := d.state.names(makingDir)
	problems = append(problems, err)
	for _, name := range making {
		if !makerLives(name) {
			problems = append(problems, removeTree(d.state.path(makingDir, name)))
		}
	}
	trash, err := d.state.names(trashDir)
	problems = append(problems, err)
	for _, name := range trash {
		problems = append(problems, removeTree(d.state.path(trashDir, name)))
	}
	return errors.Join(problems...)
}
