package prime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// checkpoint holds the files of a sandbox at one moment.
type checkpoint struct {
	ID        string  `json:"id"`
	SandboxID string  `json:"sandbox_id"`
	State     string  `json:"state"`
	Error     string  `json:"error"`
	CreatedAt instant `json:"created_at"`
}

const durable = "DURABLE" // it can be restored

// lost reports whether it never can be restored.
func (c checkpoint) lost() bool { return c.State == "FAILED" || c.State == "DELETING" }

// freezing is Note.Freezing: checkpoints have no names.
const freezing = "checkpoint"

// Snapshot makes a checkpoint that can be restored, of files that are all on the
// disk. What an attempt leaves that failed, or whose answer was lost, cannot be deleted
// while the sandbox runs: its note says so until Parent has looked.
func (p *provider) Snapshot(ctx context.Context, m guest.Remote, n *cloud.Note, save func() error) (string, error) {
	if !p.freezes() {
		return "", notOffered()
	}
	before, err := p.checkpoints(ctx, n.ID) // of attempts that failed
	if err != nil {
		return "", p.noCheckpoint(ctx, *n, err)
	}
	n.Freezing = freezing
	if err := save(); err != nil { // before the call that it is about
		return "", err
	}
	code, err := m.Run(ctx, guest.Process{Argv: []string{"/bin/bash", "-c", "sync"}, Root: true}, func(bool, []byte) {})
	if err == nil && code != 0 {
		err = fmt.Errorf("sync: exit %d", code)
	}
	if err != nil {
		return "", err
	}
	id, err := p.takeCheckpoint(ctx, n.ID, before)
	if err != nil {
		return "", p.noCheckpoint(ctx, *n, err)
	}
	return id, p.awaitDurable(ctx, id)
}

// notOffered says that there are no checkpoints.
func notOffered() error {
	return fmt.Errorf("checkpoints are not offered, or off in %scheckpoints: %w", section, errors.ErrUnsupported)
}

// noCheckpoint explains why there is no checkpoint. Where the service knows the
// sandbox and not its checkpoints, it does not offer them.
func (p *provider) noCheckpoint(ctx context.Context, n cloud.Note, err error) error {
	if !cloud.NotOffered(err) {
		return err
	}
	o, e := p.get(ctx, n.ID)
	switch {
	case cloud.IsMissing(e) || e == nil && o.Status.ended():
		return sandbox.ErrGone
	case e != nil:
		return e
	}
	if !p.noCheckpoints.Swap(true) {
		p.log.Warn().Str(logkey.SandboxID, n.Name).Msg("no checkpoints are offered: every sandbox is prepared by itself")
	}
	return notOffered()
}

// takeCheckpoint asks for a checkpoint. There is no key that would make that
// repeatable: where the answer is lost it looks for one before it asks again.
func (p *provider) takeCheckpoint(ctx context.Context, id string, before []checkpoint) (string, error) {
	const tries = 3
	for try := 1; ; try++ {
		var c checkpoint
		_, err := p.control.Do(ctx, cloud.Call{Method: http.MethodPost, Path: cloud.Path("sandbox", id, "checkpoints"), Answer: &c, Makes: true})
		if err == nil && c.ID == "" {
			err = &cloud.Lost{Cause: errors.New("the answer to a new checkpoint has no id")}
		}
		if err == nil || !cloud.Transient(err) || try == tries || ctx.Err() != nil {
			return c.ID, err
		}
		made, e := p.checkpoints(ctx, id)
		if e != nil {
			return "", err
		}
		for _, c := range made {
			if c.SandboxID == id && !c.lost() && !slices.ContainsFunc(before, func(b checkpoint) bool { return b.ID == c.ID }) {
				return c.ID, nil
			}
		}
	}
}

// awaitDurable waits until a checkpoint can be restored.
func (p *provider) awaitDurable(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.timing.freeze,
		fmt.Errorf("%w: the checkpoint is not durable after %s", sandbox.ErrUnavailable, p.timing.freeze))
	defer cancel()
	return poll(ctx, p.timing.poll/2, p.timing.pollMost, func() (bool, error) {
		c, err := p.checkpoint(ctx, id)
		switch {
		case err != nil && !cloud.Transient(err):
			return false, err
		case c.lost():
			return false, fmt.Errorf("%w: Prime failed to make the checkpoint: %s", sandbox.ErrUnavailable, cloud.Plain(c.Error))
		}
		return c.State == durable, nil
	})
}

func (p *provider) checkpoint(ctx context.Context, id string) (checkpoint, error) {
	var c checkpoint
	return c, p.control.Ask(ctx, http.MethodGet, cloud.Path("sandbox", "checkpoints", id), nil, &c)
}

// checkpoints lists those of a sandbox: a list, or an object with one.
func (p *provider) checkpoints(ctx context.Context, id string) ([]checkpoint, error) {
	var raw json.RawMessage
	if err := p.control.Ask(ctx, http.MethodGet, cloud.Path("sandbox", id, "checkpoints"), nil, &raw); err != nil {
		return nil, err
	}
	var all []checkpoint
	if json.Unmarshal(raw, &all) == nil {
		return all, nil
	}
	var wrapped struct {
		Checkpoints []checkpoint `json:"checkpoints"`
	}
	if err := json.Unmarshal(raw, &wrapped); err != nil {
		return nil, &cloud.Lost{Cause: fmt.Errorf("the list of checkpoints cannot be read: %w", err)}
	}
	return wrapped.Checkpoints, nil
}

// HasSnapshot reports whether a base can be restored.
func (p *provider) HasSnapshot(ctx context.Context, n cloud.Note) bool {
	c, err := p.checkpoint(ctx, n.Snapshot)
	if err != nil {
		return !cloud.IsMissing(err)
	}
	return !c.lost()
}

// UnwantedSnapshots are the checkpoints of a note's sandbox but the one of its base, the newest first.
func (p *provider) UnwantedSnapshots(ctx context.Context, n cloud.Note) ([]string, error) {
	made, err := p.checkpoints(ctx, n.ID)
	if err != nil && !cloud.NotOffered(err) {
		return nil, err
	}
	slices.SortStableFunc(made, func(a, b checkpoint) int { return b.CreatedAt.Compare(a.CreatedAt.Time) })
	var ids []string
	for _, c := range made {
		if c.SandboxID == n.ID && c.ID != n.Snapshot {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

// RemoveSnapshot deletes a checkpoint; a missing one is no error. One that is being
// made is refused for a while.
func (p *provider) RemoveSnapshot(ctx context.Context, _ cloud.Note, id string) error {
	busy := &cloud.Backoff{First: p.timing.poll / 4, Most: p.timing.poll * 3, Tries: 16}
	return cloud.Retry(ctx, func() error {
		return p.control.Delete(ctx, cloud.Path("sandbox", "checkpoints", id))
	}, func(err error) *cloud.Backoff {
		if cloud.HasStatus(err, http.StatusConflict) {
			return busy
		}
		return nil
	})
}

// Parent deletes the sandbox that a base was made of, and the checkpoints of earlier
// attempts: as long as the sandbox runs its newest one cannot be deleted.
func (p *provider) Parent(ctx context.Context, n *cloud.Note, _ bool) error {
	if err := p.Remove(ctx, []string{n.ID})[n.ID]; err != nil {
		return err
	}
	if n.Freezing != "" {
		unwanted, err := p.UnwantedSnapshots(ctx, *n)
		if err != nil {
			return err
		}
		for _, id := range unwanted {
			if err := p.RemoveSnapshot(ctx, *n, id); err != nil {
				return err
			}
		}
	}
	n.ID, n.Freezing = "", ""
	return nil
}
