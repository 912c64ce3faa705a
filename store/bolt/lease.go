package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
)

// Heartbeat makes or renews a node's lease. It never revives a dead node: what
// the node owned may already be somebody else's.
func (s *Store) Heartbeat(ctx context.Context, node string, now time.Time, ttl time.Duration) error {
	if err := checkName("node", node); err != nil {
		return err
	}
	err := s.update(ctx, "heartbeat", func(t *tx) error {
		known := t.get(nodes, []byte(node))
		if t.get(gone, []byte(node)) != nil || known != nil && num(known) <= stamp(now) {
			return fmt.Errorf("node %s: %w", node, solve.ErrLeaseLost)
		}
		t.put(nodes, []byte(node), key(nil).time(now.Add(ttl)))
		return t.reap(now)
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

// dead returns the nodes whose lease has run out and that may own something.
func (t *tx) dead(now time.Time) ([]string, error) {
	var out []string
	err := t.scan(nodes, nil, func(k, v []byte) (bool, error) {
		if num(v) <= stamp(now) {
			out = append(out, string(k))
		}
		return true, nil
	})
	return out, err
}

// reap puts dead nodes that own nothing aside, so that nobody looks at them again.
func (t *tx) reap(now time.Time) error {
	list, err := t.dead(now)
	if err != nil {
		return err
	}
	for _, node := range list {
		owns := false
		for _, b := range []bucket{runOwned, claimOwned, dueOwned} {
			k, _ := t.first(b, key(nil).text(node))
			owns = owns || k != nil
		}
		if !owns {
			t.del(nodes, []byte(node))
			t.put(gone, []byte(node), key(nil).time(now))
		}
	}
	return nil
}

// ClaimSolve gives the node the solve whose turn it is. The cost does not grow with
// the number of those that wait.
func (s *Store) ClaimSolve(ctx context.Context, node string, now time.Time) (solve.Solve, error) {
	var claimed solve.Solve
	err := s.update(ctx, "claim-solve", func(t *tx) error {
		if err := t.mustLive(node, now); err != nil {
			return err
		}
		if err := t.promote(now); err != nil {
			return err
		}
		id := t.claimable()
		if id == "" {
			claimed = solve.Solve{}
			return nil
		}
		var err error
		if claimed, err = t.solve(id); err != nil {
			return err
		}
		claimed.Lease = claimed.Lease.Next(node)
		return t.putSolve(&claimed, now)
	})
	if err == nil && claimed.ID == "" {
		err = solve.ErrNotFound
	}
	if err != nil {
		return solve.Solve{}, fmt.Errorf("claim a solve: %w", err)
	}
	return claimed, nil
}

// promote makes running solves whose deadline has passed claimable, and those that
// a dead node has left. Each is moved once.
func (t *tx) promote(now time.Time) error {
	var due []solve.ID
	left := func(_, v []byte) (bool, error) {
		due = append(due, solve.ID(v))
		return true, nil
	}
	collect := func(prefix int) func(k, v []byte) (bool, error) {
		return func(k, v []byte) (bool, error) {
			if num(k[prefix:]) > stamp(now) {
				return false, nil
			}
			due = append(due, solve.ID(v))
			return true, nil
		}
	}
	if err := t.scan(dueFree, nil, collect(0)); err != nil {
		return err
	}
	list, err := t.dead(now)
	if err != nil {
		return err
	}
	for _, node := range list {
		prefix := key(nil).text(node)
		if err := errors.Join(t.scan(dueOwned, prefix, collect(len(prefix))), t.scan(claimOwned, prefix, left)); err != nil {
			return err
		}
	}
	for _, id := range due {
		s, err := t.solve(id)
		if err != nil {
			return err
		}
		if err := t.index(&s, now); err != nil {
			return err
		}
	}
	return nil
}

// claimable returns whose turn it is, "" if nothing waits: what was begun before
// goes on first, then the queue moves up.
func (t *tx) claimable() solve.ID {
	k, id := t.first(claimFree, nil)
	if k == nil {
		_, id = t.first(line, nil)
	}
	return solve.ID(id)
}

// Rescue takes over the runs at work whose node is dead or gave them up.
func (s *Store) Rescue(ctx context.Context, node string, now time.Time) ([]solve.Run, error) {
	var taken []solve.Run
	err := s.update(ctx, "rescue", func(t *tx) error {
		taken = nil
		if err := t.mustLive(node, now); err != nil {
			return err
		}
		list, err := t.orphans(now)
		if err != nil {
			return err
		}
		for _, old := range list {
			r := old
			r.Lease = old.Lease.Next(node)
			if err := t.putRun(&old, r); err != nil {
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

// orphans are the runs at work whose node is dead, or that have none.
func (t *tx) orphans(now time.Time) ([]solve.Run, error) {
	list, err := t.dead(now)
	if err != nil {
		return nil, err
	}
	var out []solve.Run
	for _, node := range append(list, "") {
		prefix := key(nil).text(node)
		err = errors.Join(err, t.scan(runOwned, prefix, func(k, _ []byte) (bool, error) {
			data := t.get(runs, k[len(prefix):])
			if data == nil {
				return false, fmt.Errorf("run owned by %s: %w", node, solve.ErrNotFound)
			}
			r, err := decodeRun("of node "+solve.ID(node), data)
			out = append(out, r)
			return true, err
		}))
	}
	return out, err
}
