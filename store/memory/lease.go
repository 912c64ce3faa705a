package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Heartbeat makes or renews a node's lease. It never revives a dead node.
func (s *Store) Heartbeat(ctx context.Context, node string, now time.Time, ttl time.Duration) error {
	if err := checkName(node); err != nil {
		return fmt.Errorf("heartbeat: node: %w", err)
	}
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

// fence refuses a writer who is not the record's living owner. Token 0 is no
// owner's and passes.
func (d *data) fence(l solve.Lease, token uint64, at time.Time) error {
	if token == 0 || token == l.Token && d.alive(l.Node, at) {
		return nil
	}
	return lost("token %d of %d, node %q", token, l.Token, l.Node)
}

// ClaimSolve gives the node the oldest solve that waits for a worker.
func (s *Store) ClaimSolve(ctx context.Context, node string, now time.Time) (claimed solve.Solve, err error) {
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("claim a solve: node %q", node)
		}
		for _, one := range d.live() {
			if d.alive(one.Lease.Node, now) || one.State == solve.StateRunning && !d.mustEnd(one, now) {
				continue
			}
			one.Lease = solve.Lease{Node: node, Token: one.Lease.Token + 1}
			set(d, d.solves, one.ID, one)
			claimed = private(one)
			return nil
		}
		return fmt.Errorf("claim a solve: %w", solve.ErrNotFound)
	})
	return claimed, err
}

// mustEnd says whether there is something to do for a running solve itself.
func (d *data) mustEnd(s solve.Solve, now time.Time) bool {
	return !s.CancelAt.IsZero() || due(s, now) || d.unfinished(s.ID) == 0
}

func due(s solve.Solve, now time.Time) bool { return !s.Deadline.IsZero() && !s.Deadline.After(now) }

// Rescue takes over the runs at work whose node is dead or gave them up.
func (s *Store) Rescue(ctx context.Context, node string, now time.Time) (taken []solve.Run, err error) {
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("rescue runs: node %q", node)
		}
		taken = d.runsWhere(func(r solve.Run) bool { return r.State.Active() && !d.alive(r.Lease.Node, now) })
		for i := range taken {
			taken[i].Lease = solve.Lease{Node: node, Token: taken[i].Lease.Token + 1}
			d.putRun(taken[i])
		}
		return nil
	})
	return taken, err
}
