package web

import (
	"context"
	"fmt"
	"sync"

	"github.com/yudai-dev/yudai/solve"
)

// maxCached is about how many bytes of trajectories are kept at hand.
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
	size  int
}

// trajectory is that of a run as it stands. One is read at a time: many viewers of a large log take the memory of one.
func (p *Pages) trajectory(ctx context.Context, r solve.Run) (*trajectory, error) {
	key := fmt.Sprintf("%s/%d", r.Solve, r.N)
	stamp := fmt.Sprint(r.Attempt, r.State, r.Progress)
	c := p.logs
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.entries[key]; ok && have.stamp == stamp {
		return have.is, nil
	}
	data, err := p.Store.Transcript(ctx, r.Solve, r.N)
	if err != nil {
		return nil, err
	}
	s := readTrajectory(data)
	s.open = s.open && !r.State.Final()
	size := len(data) + 8*len(s.log.starts) // its texts are copies of the data, and each line has its place
	if c.size += size - c.entries[key].size; c.entries == nil || c.size > maxCached {
		c.entries, c.size = map[string]cached{}, size
	}
	c.entries[key] = cached{stamp, s, size}
	return s, nil
}
