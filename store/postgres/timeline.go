package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// tokenBits is how many bits of a token count owners; those above are the timeline's.
const tokenBits = 32

// mostIdle is how long a transaction waits for its process. A machine that was lost would keep its locks from others for hours.
const mostIdle = "30s"

// recognise looks at every new connection, before it is used, whether the database
// is the one that was left: a failover, a point in time or a copy of it is not.
// What such a one holds may have gone further outside, so its outcome is doubted.
func (s *Store) recognise(ctx context.Context, conn *pgx.Conn) error {
	var system, timeline string
	err := conn.QueryRow(ctx, `select system_identifier::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
		set_config('idle_in_transaction_session_timeout', $1, false) from pg_control_system()`, mostIdle).Scan(&system, &timeline, nil)
	if err != nil {
		return fmt.Errorf("ask for the database's timeline: %w", err)
	}
	n, err := strconv.ParseUint(timeline, 16, 32)
	if err != nil {
		return fmt.Errorf("read the database's timeline: %w", err)
	}
	doubted, err := doubtOther(ctx, conn, system+"/"+timeline, s.cfg.Now)
	if err != nil {
		return fmt.Errorf("doubt what another timeline holds: %w", err)
	}
	conn.PgConn().CustomData()[connectionNumber] = s.marks.Add(1)
	s.floor.Store((n - 1) << tokenBits)
	if doubted {
		s.changed()
	}
	return nil
}

// doubtOther notes where the data are now. If they were elsewhere before, all that
// waits, and all that living solves and asks will want, is looked up before it is made.
func doubtOther(ctx context.Context, conn *pgx.Conn, origin string, clock func() time.Time) (doubted bool, err error) {
	err = pgx.BeginTxFunc(ctx, conn, writing, func(p pgx.Tx) error {
		t := &tx{db: p, ctx: ctx, clock: clock}
		if was, err := t.meta("origin"); err == nil && was == origin {
			return nil
		}
		if err := t.assign(); err != nil { // one connection after the other
			return err
		}
		was, err := t.meta("origin")
		if was == origin || err != nil && !errors.Is(err, solve.ErrNotFound) {
			return err
		}
		if doubted = err == nil; doubted {
			if err := t.doubtAll(); err != nil {
				return err
			}
		}
		return t.setMeta("origin", origin)
	})
	return doubted, err
}

// doubtAll gives every effect that waits, or will be wanted, an unknown outcome.
func (t *tx) doubtAll() error {
	now := t.now()
	if _, err := t.do(`insert into doubt (owner, at) select id, $1::bigint from solve where live union select id, $1::bigint from ask
		on conflict (owner) do update set at = excluded.at`, stamp(now)); err != nil {
		return err
	}
	_, err := t.do("update effect set record = jsonb_set(record, '{sent_at}', to_jsonb($1::text)) where look is not null",
		now.Format(time.RFC3339Nano))
	return errors.Join(err, t.failed)
}
