package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/yudai-dev/yudai/internal/clock"
)

// mark is what a transaction leaves of itself. A connection may break while it commits, and whoever does again what
// was done already would count it twice.
type mark struct {
	connection string
	n          int64
}

// connectionNumber is what a connection of this process is known by: after a restart, a server gives process numbers out again.
const connectionNumber = "yudai"

// mark notes the transaction as the newest of its connection.
func (t *tx) mark(boot string, n int64) (mark, error) {
	m := mark{fmt.Sprintf("%s/%d", boot, t.db.Conn().PgConn().CustomData()[connectionNumber]), n}
	_, err := t.do("insert into outcome (connection, n) values ($1, $2) on conflict (connection) do update set n = $2, made = now()",
		m.connection, m.n)
	return m, err
}

// askPause is how long a database that does not answer is left alone.
const askPause = 200 * time.Millisecond

// settle returns nil if the transaction was made, and the error of its commit if it was not, or if ctx ends or the store is closed
// before the database tells. The row's lock waits for a transaction that is still under way.
func (s *Store) settle(ctx context.Context, m mark, failed error) error {
	for {
		var n int64
		err := s.pool.QueryRow(ctx, `insert into outcome (connection, n) values ($1, 0)
			on conflict (connection) do update set made = now() returning n`, m.connection).Scan(&n)
		switch {
		case err == nil && n == m.n:
			return nil
		case err == nil, !passing(err), s.closed.Load(), clock.Sleep(ctx, askPause) != nil:
			return failed
		}
	}
}

// passing says whether the same question may have an answer later: the database is away, begins, ends, or has no room for more.
func passing(err error) bool {
	var said *pgconn.PgError
	return !errors.As(err, &said) || slices.Contains([]string{"08", "53", "57", "40"}, said.Code[:2])
}
