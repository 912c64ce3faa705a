package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// ClaimSolve gives the node the solve whose turn it is.
func (s *Store) ClaimSolve(ctx context.Context, node string, now time.Time) (claimed solve.Solve, err error) {
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("claim a solve: node %q", node)
		}
		list := d.claimable(now)
		if len(list) == 0 {
			return fmt.Errorf("claim a solve: %w", solve.ErrNotFound)
		}
		one := list[0]
		one.Lease = one.Lease.Next(node)
		set(d, d.solves, one.ID, one)
		claimed = private(one)
		return nil
	})
	return claimed, err
}

// claimable are the solves that nobody live owns and that have something to do, in
// the order of their turns: what left the queue before, then the queue, in which
// the repository with the fewest other live solves is first. The older goes first among equals.
func (d *data) claimable(now time.Time) (out []solve.Solve) {
	begun := map[int64]int{}
	for _, s := range d.live() {
		free := !d.alive(s.Lease.Node, now)
		if s.State != solve.StateQueued || !free {
			begun[s.Repo.ID]++
		}
		if free && (s.State != solve.StateRunning || d.mustEnd(s, now)) {
			out = append(out, s)
		}
	}
	turn := func(s solve.Solve) int {
		if s.State != solve.StateQueued {
			return -1
		}
		return begun[s.Repo.ID]
	}
	slices.SortStableFunc(out, func(a, b solve.Solve) int { return cmp.Compare(turn(a), turn(b)) })
	return out
}

// mustEnd says whether there is something to do for a running solve itself.
func (d *data) mustEnd(s solve.Solve, now time.Time) bool {
	return !s.CancelAt.IsZero() || s.Overdue(now) || d.unfinished(s.ID) == 0
}

// Rescue takes over the runs at work whose node is dead or gave them up.
func (s *Store) Rescue(ctx context.Context, node string, now time.Time) (taken []solve.Run, err error) {
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
