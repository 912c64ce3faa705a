package prime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// point is a checkpoint: the files of a sandbox at one moment.
type point struct {
	ID        string     `json:"id"`
	SandboxID string     `json:"sandbox_id"`
	State     pointState `json:"state"`
	Error     string     `json:"error"`
	CreatedAt instant    `json:"created_at"`
}

// pointState is where a checkpoint is in its life.
type pointState string

const (
	pointDurable  pointState = "DURABLE" // it can be restored
	pointFailed   pointState = "FAILED"
	pointDeleting pointState = "DELETING"
)

// lost reports whether it never can be restored.
func (s pointState) lost() bool { return s == pointFailed || s == pointDeleting }

// take asks for a checkpoint. There is no key that would make it repeatable.
func (c *control) take(ctx context.Context, id string) (point, error) {
	var p point
	err := c.do(ctx, call{method: http.MethodPost, path: path("sandbox", id, "checkpoints"), answer: &p, once: true})
	if err == nil && p.ID == "" {
		err = &lost{errors.New("the answer to a new checkpoint has no id")}
	}
	return p, err
}

func (c *control) checkpoint(ctx context.Context, id string) (point, error) {
	var p point
	return p, c.do(ctx, call{method: http.MethodGet, path: path("sandbox", "checkpoints", id), answer: &p})
}

// checkpoints lists those of a sandbox: a list, or an object with one.
func (c *control) checkpoints(ctx context.Context, id string) ([]point, error) {
	var raw json.RawMessage
	if err := c.do(ctx, call{method: http.MethodGet, path: path("sandbox", id, "checkpoints"), answer: &raw}); err != nil {
		return nil, err
	}
	var all []point
	if json.Unmarshal(raw, &all) == nil {
		return all, nil
	}
	var wrapped struct {
		Checkpoints []point `json:"checkpoints"`
	}
	if err := json.Unmarshal(raw, &wrapped); err != nil {
		return nil, &lost{fmt.Errorf("the list of checkpoints cannot be read: %w", err)}
	}
	return wrapped.Checkpoints, nil
}

// dropCheckpoint deletes a checkpoint; a missing one is no error. One that is being
// made is refused for a while.
func (c *control) dropCheckpoint(ctx context.Context, id string) error {
	const tries = 16
	wait := c.pace.poll / 4
	for try := 1; ; try++ {
		err := c.do(ctx, call{method: http.MethodDelete, path: path("sandbox", "checkpoints", id)})
		if err == nil || isGone(err) {
			return nil
		}
		if statusOf(err) != http.StatusConflict || try == tries || !sleep(ctx, wait) {
			return err
		}
		wait = min(wait*3/2, c.pace.poll*3)
	}
}

// settled waits until a checkpoint can be restored.
func (c *control) settled(ctx context.Context, p point) (point, error) {
	id, wait := p.ID, c.pace.poll/2
	for until := time.Now().Add(c.pace.freeze); ; {
		switch {
		case p.State == pointDurable:
			return p, nil
		case p.State.lost():
			return p, fmt.Errorf("%w: Prime failed to make the checkpoint: %s", sandbox.ErrUnavailable, plain(p.Error))
		case time.Now().Add(wait).After(until):
			return p, fmt.Errorf("%w: the checkpoint is not durable after %s", sandbox.ErrUnavailable, c.pace.freeze)
		case !sleep(ctx, wait):
			return p, context.Cause(ctx)
		}
		wait = min(wait*3/2, c.pace.pollMost)
		next, err := c.checkpoint(ctx, id)
		if err == nil {
			p = next
		} else if !transient(err) {
			return p, err
		}
		p.ID = id
	}
}
