package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// Heartbeat makes or renews a node's lease. It never revives a dead node: what the
// node owned may already be somebody else's.
func (s *Store) Heartbeat(ctx context.Context, node string, ttl time.Duration) error {
	if err := solve.CheckName("node", node); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return s.update(ctx, func(t *tx) error {
		if err := s.mustHold(t); err != nil {
			return named(err, "heartbeat of node", node)
		}
		now := t.now()
		n, err := t.do("insert into node (name, until) values ($1, $2) on conflict (name) do update set until = $2 where node.until > $3",
			node, stamp(now.Add(ttl)), stamp(now))
		if err == nil && n == 0 {
			err = solve.ErrLeaseLost
		}
		return named(err, "heartbeat of node", node)
	})
}

// Leave ends a node's lease at once. A node nobody knows has none to end.
func (s *Store) Leave(ctx context.Context, node string) error {
	return s.update(ctx, func(t *tx) error {
		_, err := t.do("update node set until = $2 where name = $1", node, stamp(time.Time{}))
		return err
	})
}

// alive says whether the node's lease has not run out. All nodes are read at once.
func (t *tx) alive(node string) bool {
	if t.live == nil {
		t.live = map[string]bool{}
		rows, err := t.db.Query(t.ctx, "select name from node where until > $1", stamp(t.now()))
		if err == nil {
			var names []string
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			for _, name := range names {
				t.live[name] = true
			}
		}
		t.keep(err)
	}
	return t.live[node]
}

// mustLive returns ErrLeaseLost unless the node's lease is live.
func (t *tx) mustLive(node string) error {
	if !t.alive(node) {
		return fmt.Errorf("node %q is not live: %w", node, solve.ErrLeaseLost)
	}
	return nil
}

// ClaimSolve gives the node the solve whose turn it is, see [solve.NextClaim].
func (s *Store) ClaimSolve(ctx context.Context, node string) (claimed solve.Solve, err error) {
	err = s.update(ctx, func(t *tx) error {
		if err := t.assign(); err != nil {
			return err
		}
		if err := t.mustLive(node); err != nil {
			return err
		}
		next, err := t.nextClaim()
		if err != nil {
			return err
		}
		one, err := t.solve(next.ID)
		if err != nil {
			return err
		}
		if one.State != next.State || one.Lease.Node != next.Owner {
			return errAgain // it moved on before it was locked
		}
		claimed = one
		claimed.Lease = t.next(claimed.Lease, node)
		return t.putSolve(claimed)
	})
	return claimed, named(err, "claim a solve for node", node)
}

// nextClaim reads a small row of each solve that was begun, and the oldest waiting one of each repository.
func (t *tx) nextClaim() (none solve.Brief, err error) {
	begun, err := all[solve.Brief](t, "select brief from solve where live and not waiting")
	if err != nil {
		return none, err
	}
	heads, err := all[solve.Brief](t, "select distinct on (repo) brief from solve where waiting order by repo, created, id")
	if err != nil {
		return none, err
	}
	rows, err := t.db.Query(t.ctx, "select distinct solve from run where not final")
	if err != nil {
		return none, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[solve.ID])
	if err != nil {
		return none, err
	}
	t.busy = map[solve.ID]int{}
	for _, id := range ids {
		t.busy[id] = 1
	}
	id := solve.NextClaim(reader{t}, begun, heads, t.now())
	list := slices.Concat(begun, heads)
	if i := slices.IndexFunc(list, func(b solve.Brief) bool { return b.ID == id }); i >= 0 {
		return list[i], nil
	}
	return none, solve.ErrNotFound
}

// Rescue takes over the runs at work whose node is dead.
func (s *Store) Rescue(ctx context.Context, node string) (taken []solve.Run, err error) {
	err = s.update(ctx, func(t *tx) error {
		if err := t.assign(); err != nil {
			return err
		}
		if err := t.mustLive(node); err != nil {
			return err
		}
		lost := "active and not exists (select from node where name = run.node and until > $1)"
		now := stamp(t.now())
		lock := "select from solve where id in (select solve from run where " + lost + ") order by id for update"
		if _, err := t.db.Exec(t.ctx, lock, now); err != nil {
			return err
		}
		if taken, err = all[solve.Run](t, "select record from run where "+lost+" order by solve, n for update", now); err != nil {
			return err
		}
		for i := range taken {
			taken[i].Lease = t.next(taken[i].Lease, node)
			if err := t.putRun(taken[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, named(err, "rescue runs for node", node)
	}
	return taken, nil
}
