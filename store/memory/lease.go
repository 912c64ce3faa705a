package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Heartbeat makes or renews a node's lease. It never revives a dead node.
func (s *Store) Heartbeat(ctx context.Context, node string, ttl time.Duration) error {
	if err := solve.CheckName("node", node); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	now := s.now()
	return s.update(ctx, func(d *data) error {
		if _, known := d.nodes[node]; known && !d.alive(node, now) {
			return lost("heartbeat: node %s is dead", node)
		}
		set(d, d.nodes, node, now.Add(ttl))
		return nil
	})
}

// Leave ends a node's lease at once. A node nobody knows has none to end.
func (s *Store) Leave(ctx context.Context, node string) error {
	return s.update(ctx, func(d *data) error {
		if _, known := d.nodes[node]; known {
			set(d, d.nodes, node, time.Time{})
		}
		return nil
	})
}

// alive says whether the node's lease has not run out.
func (d *data) alive(node string, now time.Time) bool { return d.nodes[node].After(now) }

func lost(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, solve.ErrLeaseLost)...)
}

// ClaimSolve gives the node the solve whose turn it is.
func (s *Store) ClaimSolve(ctx context.Context, node string) (claimed solve.Solve, err error) {
	now := s.now()
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("claim a solve: node %q", node)
		}
		var begun, waiting []solve.Brief
		for _, one := range d.live() {
			if one.Waiting() {
				waiting = append(waiting, one.Brief())
			} else {
				begun = append(begun, one.Brief())
			}
		}
		id := solve.NextClaim(reader{d, now}, begun, waiting, now)
		if id == "" {
			return fmt.Errorf("claim a solve: %w", solve.ErrNotFound)
		}
		claimed = private(d.solves[id])
		claimed.Lease = claimed.Lease.Next(node)
		set(d, d.solves, id, private(claimed))
		return nil
	})
	return claimed, err
}

// Rescue takes over the runs at work whose node is dead.
func (s *Store) Rescue(ctx context.Context, node string) (taken []solve.Run, err error) {
	now := s.now()
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("rescue runs: node %q", node)
		}
		taken = d.runsWhere(func(r solve.Run) bool { return r.State.Active() && !d.alive(r.Lease.Node, now) })
		for i := range taken {
			taken[i].Lease = taken[i].Lease.Next(node)
			d.putRun(taken[i])
		}
		return nil
	})
	return taken, err
}
