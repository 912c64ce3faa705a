package postgres

import (
	"context"
	"fmt"
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
