package postgres

import (
	"context"
	"fmt"
	"time"
)

// pruneBatch bounds one transaction of Prune, so that writers wait little.
const pruneBatch = 500

// Prune removes what is older than the configured times: deliveries, and the
// transcripts and artifacts of ended solves. Solves, runs, events and effects stay.
func (s *Store) Prune(ctx context.Context, now time.Time) error {
	deliveries, logs := stamp(now.Add(-s.cfg.KeepDeliveries)), stamp(now.Add(-s.cfg.KeepLogs))
	const over = " where not live and ended < $1 limit $2)"
	for _, one := range []struct {
		table, old string
		before     int64
	}{
		{"delivery", "guid in (select guid from delivery where received < $1 order by received limit $2)", deliveries},
		{"transcript", "solve in (select distinct solve from transcript join solve on id = transcript.solve" + over, logs},
		{"artifact", "solve in (select distinct solve from artifact join solve on id = artifact.solve" + over, logs},
		{"doubt", "owner in (select owner from doubt join solve on id = owner" + over, logs},
	} {
		for n := int64(1); n > 0; {
			err := s.update(ctx, func(t *tx) (err error) {
				n, err = t.do("delete from "+one.table+" where "+one.old, one.before, pruneBatch)
				return err
			})
			if err != nil {
				return fmt.Errorf("prune %s: %w", one.table, err)
			}
		}
	}
	_, err := s.pool.Exec(ctx, "delete from outcome where made < now() - interval '1 day'")
	return err
}

// Bytes is the size of the database.
func (s *Store) Bytes(ctx context.Context) (n int64, err error) {
	err = s.view(ctx, func(t *tx) error { return t.get("select pg_database_size(current_database())", nil, &n) })
	return n, named(err, "measure database", s.pool.Config().ConnConfig.Database)
}

// Commits counts the transactions that this process has made durable.
func (s *Store) Commits() int64 { return s.commits.Load() }
