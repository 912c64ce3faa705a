package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// snapshotPrefix begins the names of our snapshots.
func (p *provider) snapshotPrefix() string { return "yudai-" + p.journal.Deployment() + "-" }

// Snapshot freezes a copy of the machine under a name that is noted before.
func (p *provider) Snapshot(ctx context.Context, m guest.Remote, n *cloud.Note, save func() error) (string, error) {
	if d, ok := m.(cloud.Machine).Wire.(*daemon); ok {
		if err := d.endOldViews(ctx); err != nil {
			p.log.Warn().Err(err).Str(logkey.SandboxID, n.Name).Msg("views of old commands not ended")
		}
	}
	n.Freezing = p.snapshotPrefix() + cloud.NewKey()
	if err := save(); err != nil {
		return "", err
	}
	s, err := p.takeSnapshot(ctx, n.ID, n.Freezing)
	if err == nil && s.ID == "" {
		err = &cloud.Lost{Cause: errors.New("the answer names no snapshot")}
	}
	if err != nil {
		return "", p.notFrozen(ctx, n, save, err)
	}
	n.Freezing = ""
	return s.ID, nil
}

// notFrozen cleans up after a snapshot that was not made, or perhaps was, and says why.
func (p *provider) notFrozen(ctx context.Context, n *cloud.Note, save func() error, err error) error {
	clean, cancel := cloud.Cleaning(ctx)
	defer cancel()
	cleaned := error(nil)
	if !cloud.Undone(err) {
		var unwanted []string
		unwanted, cleaned = p.UnwantedSnapshots(clean, *n)
		for _, id := range unwanted {
			cleaned = errors.Join(cleaned, p.deleteSnapshot(clean, id))
		}
	}
	if cleaned == nil {
		n.Freezing = ""
		cleaned = save()
	}
	if cloud.NotOffered(err) || cloud.HasStatus(err, http.StatusForbidden) {
		switch _, look := p.get(clean, n.ID); {
		case cloud.IsMissing(look):
			return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
		case look == nil:
			err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
	}
	return errors.Join(err, cleaned)
}

// HasSnapshot looks among the snapshots of the parent, which may be gone, then among all.
func (p *provider) HasSnapshot(ctx context.Context, n cloud.Note) bool {
	for _, of := range slices.Compact([]string{n.ID, ""}) {
		all, err := p.snapshots(ctx, of)
		if err != nil && !cloud.NotOffered(err) {
			return true
		}
		if slices.ContainsFunc(all, func(s snapshot) bool { return s.ID == n.Snapshot }) {
			return true
		}
	}
	return false
}

// UnwantedSnapshots are those of a machine under the name that was noted, or without one.
func (p *provider) UnwantedSnapshots(ctx context.Context, n cloud.Note) ([]string, error) {
	found, err := p.snapshots(ctx, n.ID)
	if cloud.NotOffered(err) { // the sandbox is gone; what has our name is found among all by Sweep
		return nil, nil
	}
	var ids []string
	for _, s := range found {
		if s.ID != n.Snapshot && (s.named(n.Freezing) != "" || len(s.Names) == 0) {
			ids = append(ids, s.ID)
		}
	}
	return ids, err
}

// RemoveSnapshot deletes a snapshot. The service refuses one that something is based
// on: parents of bases that were made from it are of little use, and are ended.
func (p *provider) RemoveSnapshot(ctx context.Context, n cloud.Note, id string) error {
	err := p.deleteSnapshot(ctx, id)
	if !cloud.HasStatus(err, http.StatusBadRequest) || n.Name == "" {
		return err
	}
	all, failed := p.journal.All()
	for _, other := range all {
		if other.Stage == cloud.Frozen && other.Parent == n.Name && other.ID != "" {
			failed = errors.Join(failed, p.Remove(ctx, []string{other.ID})[other.ID])
		}
	}
	if failed != nil {
		return failed
	}
	return p.deleteSnapshot(ctx, id)
}

// Parent lets the machine that a base was made of live on for a while, to be forked.
// One of a dead process rests: nobody is going to fork it any more.
func (p *provider) Parent(ctx context.Context, n *cloud.Note, fresh bool) error {
	if fresh {
		p.keepParent(*n)
		return nil
	}
	if p.parent(n.ID) != nil {
		return nil
	}
	m, err := p.get(ctx, n.ID)
	switch {
	case cloud.HasStatus(err, http.StatusNotFound):
		n.ID = ""
		return nil
	case err == nil && m.State != paused:
		err = p.pause(ctx, n.ID)
	}
	if err != nil {
		p.log.Warn().Err(err).Str(logkey.SandboxID, n.Name).Msg("parent of a base not paused, its lease ends it")
	}
	return nil
}
