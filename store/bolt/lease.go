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
	err := s.update(ctx, "heartbeat", func(t *tx) error {
		now := s.cfg.Now()
		known := t.get(nodes, []byte(node))
		if known != nil && num(known) <= stamp(now) {
			return fmt.Errorf("node %s: %w", node, solve.ErrLeaseLost)
		}
		t.put(nodes, []byte(node), key(nil).time(now.Add(ttl)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// Leave ends a node's lease at once. A node nobody knows has none to end.
func (s *Store) Leave(ctx context.Context, node string) error {
	err := s.update(ctx, "leave", func(t *tx) error {
		if known := t.get(nodes, []byte(node)); num(known) > 0 {
			t.put(nodes, []byte(node), key(nil).num(0))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

// endLeases ends the leases of all nodes: the file's lock says that their processes are gone.
func (s *Store) endLeases() error {
	return s.update(context.Background(), "end-leases", func(t *tx) error {
		var living []string
		err := t.scan(nodes, nil, func(k, v []byte) (bool, error) {
			if num(v) > 0 {
				living = append(living, string(k))
			}
			return true, nil
		})
		for _, node := range living {
			t.put(nodes, []byte(node), key(nil).num(0))
		}
		return err
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
	var claimed solve.Solve
	err := s.update(ctx, "claim-solve", func(t *tx) error {
		claimed = solve.Solve{}
		now := s.cfg.Now()
		if err := t.mustLive(node, now); err != nil {
			return err
		}
		list, err := t.begunSolves()
		if err != nil {
			return err
		}
		id := solve.NextClaim(reader{t, now}, list, t.queueHeads(), now)
		if id == "" {
			return nil
		}
		if claimed, err = t.solve(id); err != nil {
			return err
		}
		claimed.Lease = claimed.Lease.Next(node)
		return t.putSolve(&claimed)
	})
	if err == nil && claimed.ID == "" {
		err = solve.ErrNotFound
	}
	if err != nil {
		return solve.Solve{}, fmt.Errorf("claim a solve: %w", err)
	}
	return claimed, nil
}

// Rescue takes over the runs at work whose node is dead.
func (s *Store) Rescue(ctx context.Context, node string) ([]solve.Run, error) {
	var taken []solve.Run
	err := s.update(ctx, "rescue", func(t *tx) error {
		taken = nil
		now := s.cfg.Now()
		if err := t.mustLive(node, now); err != nil {
			return err
		}
		var orphans []solve.Run
		err := t.scan(active, nil, func(k, v []byte) (bool, error) {
			if t.mustLive(string(v[:len(v)-1]), now) == nil {
				return true, nil
			}
			r, err := decodeRun(solveOf(k), t.get(runs, k))
			orphans = append(orphans, r)
			return true, err
		})
		if err != nil {
			return err
		}
		for _, r := range orphans {
			r.Lease = r.Lease.Next(node)
			if err := t.putRun(r); err != nil {
				return err
			}
			taken = append(taken, r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("rescue runs: %w", err)
	}
	return taken, nil
}
