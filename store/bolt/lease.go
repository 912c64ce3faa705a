package bolt

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
)

// Heartbeat makes or renews a node's lease. It never revives a dead node: what
// the node owned may already be somebody else's.
func (s *Store) Heartbeat(ctx context.Context, node string, ttl time.Duration) error {
	if err := solve.CheckName("node", node); err != nil {
		return err
	}
	return s.update(ctx, "heartbeat", func(t *tx) error {
		now := s.cfg.Now()
		known := t.get(nodes, []byte(node))
		if known != nil && num(known) <= stamp(now) {
			return fmt.Errorf("node %s: %w", node, solve.ErrLeaseLost)
		}
		t.put(nodes, []byte(node), key(nil).time(now.Add(ttl)))
		return nil
	})
}

// Leave ends a node's lease at once. A node nobody knows has none to end.
func (s *Store) Leave(ctx context.Context, node string) error {
	return s.update(ctx, "leave", func(t *tx) error {
		if known := t.get(nodes, []byte(node)); num(known) > 0 {
			t.put(nodes, []byte(node), key(nil).num(0))
		}
		return nil
	})
}

// endLeases ends the leases of all nodes, and their claims of effects: the file's lock
// says that their processes are gone.
func (s *Store) endLeases() error {
	return s.update(context.Background(), "end-leases", func(t *tx) error {
		for _, node := range t.keys(nodes, nil) {
			t.set(nodes, node, key(nil).num(0))
		}
		return t.changeWaiting(solve.Effect.Orphaned)
	})
}

// mustLive returns ErrLeaseLost unless the node's lease is live.
func (t *tx) mustLive(node string, at time.Time) error {
	if failpoint.Mutated(failpoint.NoTokenCheck) {
		return nil
	}
	if node == "" || num(t.get(nodes, []byte(node))) <= stamp(at) {
		return fmt.Errorf("node %q is not live: %w", node, solve.ErrLeaseLost)
	}
	return nil
}

// ClaimSolve gives the node the solve whose turn it is, see [solve.NextClaim]. It reads
// a small row of each solve that was begun, and the oldest waiting one of each repository.
func (s *Store) ClaimSolve(ctx context.Context, node string) (solve.Solve, error) {
	return write(ctx, s, "claim-solve", func(t *tx) (claimed solve.Solve, err error) {
		now := s.cfg.Now()
		if err := t.mustLive(node, now); err != nil {
			return claimed, err
		}
		list, err := t.begunSolves()
		if err != nil {
			return claimed, err
		}
		id := solve.NextClaim(reader{t, now}, list, t.queueHeads(), now)
		if id == "" {
			return claimed, solve.ErrNotFound
		}
		if claimed, err = t.solve(id); err != nil {
			return claimed, err
		}
		claimed.Lease = claimed.Lease.Next(node)
		return claimed, t.putSolve(&claimed)
	})
}

// Rescue takes over the runs at work whose node is dead.
func (s *Store) Rescue(ctx context.Context, node string) ([]solve.Run, error) {
	return write(ctx, s, "rescue", func(t *tx) (taken []solve.Run, err error) {
		now := s.cfg.Now()
		if err := t.mustLive(node, now); err != nil {
			return nil, err
		}
		for k, v := range t.scan(active, nil) {
			if t.mustLive(string(v[:len(v)-1]), now) == nil {
				continue
			}
			r, err := decode[solve.Run](runName(k), t.get(runs, k))
			if err != nil {
				return nil, err
			}
			r.Lease = r.Lease.Next(node)
			taken = append(taken, r)
		}
		for _, r := range taken {
			if err := t.putRun(r); err != nil {
				return nil, err
			}
		}
		return taken, nil
	})
}
