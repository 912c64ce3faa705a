package web

import (
	"context"
	"fmt"
	"sync"

	"github.com/yudai-dev/yudai/solve"
)

// maxCached is how many bytes of logs are kept at hand.
const maxCached = 128 << 20

// logCache keeps trajectories that were read: a page, its stream and its viewers share one.
type logCache struct {
	mu      sync.Mutex
	entries map[string]cached
	size    int
}

type cached struct {
	stamp string
	is    *trajectory
}

// trajectory is that of a run as it stands.
func (p *Pages) trajectory(ctx context.Context, r solve.Run) (*trajectory, error) {
	key := fmt.Sprintf("%s/%d", r.Solve, r.N)
	stamp := fmt.Sprint(r.Attempt, r.State, r.Progress)
	c := p.logs
	c.mu.Lock()
	have, ok := c.entries[key]
	c.mu.Unlock()
	if ok && have.stamp == stamp {
		return have.is, nil
	}
	data, err := p.Store.Transcript(ctx, r.Solve, r.N)
	if err != nil {
		return nil, err
	}
	s := readTrajectory(data)
	s.open = s.open && !r.State.Final()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += len(s.log.data); c.entries == nil || c.size > maxCached {
		c.entries, c.size = map[string]cached{}, len(s.log.data)
	}
	if old, ok := c.entries[key]; ok {
		c.size -= len(old.is.log.data)
	}
	c.entries[key] = cached{stamp, s}
	return s, nil
}
