package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/solve"
)

// tries is how often a transaction is done that the database gave up for another one. The wait after each is longer by againPause,
// so that the others can end: two seconds in all.
const (
	tries      = 20
	againPause = 10 * time.Millisecond
)

// errAgain asks for the transaction to be done once more.
var errAgain = errors.New("another transaction came between")

// tx is a transaction. The rules ask for some things without an error to return;
// the first such error is kept and ends the transaction.
type tx struct {
	db pgx.Tx

	ctx     context.Context
	clock   func() time.Time
	floor   uint64
	writes  bool // rows that are read are locked
	changed bool
	at      time.Time       // of the transaction, once it was asked for
	live    map[string]bool // nodes, once they were asked for
	busy    map[solve.ID]int
	failed  error
}

// writing is how transactions write: each statement sees what was committed before it, so that what is read under a
// lock is true, whatever the server's default is.
var writing = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// update runs fn in a transaction, again if another one was in its way.
func (s *Store) update(ctx context.Context, fn func(*tx) error) error {
	for n := 1; ; n++ {
		changed, err := s.once(ctx, writing, true, fn)
		if n < tries && again(err) && clock.Sleep(ctx, time.Duration(n)*againPause) == nil {
			continue
		}
		if changed && err == nil {
			s.commits.Add(1)
			s.changed()
		}
		return err
	}
}

// view runs fn on one state of the database.
func (s *Store) view(ctx context.Context, fn func(*tx) error) error {
	_, err := s.once(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, false, fn)
	return err
}

func (s *Store) once(ctx context.Context, how pgx.TxOptions, writes bool, fn func(*tx) error) (changed bool, err error) {
	var left mark
	err = pgx.BeginTxFunc(ctx, s.pool, how, func(p pgx.Tx) error {
		t := &tx{db: p, ctx: ctx, clock: s.cfg.Now, floor: s.floor.Load(), writes: writes}
		err := fn(t)
		changed = t.changed
		if t.failed != nil { // what a rule said without knowing is no answer
			return t.failed
		}
		if err == nil && changed {
			left, err = t.mark(s.boot, s.marks.Add(1))
		}
		return err
	})
	if err != nil && left.n > 0 && !again(err) { // all but the commit went well
		err = s.settle(ctx, left, err)
	}
	return changed, err
}

// again says whether the database gave a transaction up for the sake of another.
func again(err error) bool {
	var said *pgconn.PgError
	return errors.Is(err, errAgain) || errors.As(err, &said) && (said.Code == "40001" || said.Code == "40P01")
}

// do changes rows and says how many.
func (t *tx) do(sql string, args ...any) (int64, error) {
	tag, err := t.db.Exec(t.ctx, sql, args...)
	if err == nil && tag.RowsAffected() > 0 {
		t.changed = true
	}
	return tag.RowsAffected(), err
}

// get reads one row into the values; [solve.ErrNotFound] if there is none.
func (t *tx) get(sql string, args []any, into ...any) error {
	err := t.db.QueryRow(t.ctx, sql, args...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return solve.ErrNotFound
	}
	return err
}

// locked is a query whose rows nobody else may change until this transaction is over.
func (t *tx) locked(sql string) string {
	if t.writes {
		return sql + " for update"
	}
	return sql
}

// now is the time of the transaction. Ask when the locks are held.
func (t *tx) now() time.Time {
	switch {
	case !t.at.IsZero():
	case t.clock != nil:
		t.at = t.clock()
	default:
		var micros int64
		t.keep(t.get("select (extract(epoch from clock_timestamp()) * 1000000)::bigint", nil, &micros))
		t.at = time.UnixMicro(micros).UTC()
	}
	return t.at
}

func (t *tx) keep(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// assign waits until nobody else gives work to nodes.
func (t *tx) assign() error {
	_, err := t.db.Exec(t.ctx, "select pg_advisory_xact_lock(hashtextextended('yudai assign ' || current_schema(), 0))")
	return err
}

// next is the lease of a new owner.
func (t *tx) next(l solve.Lease, node string) solve.Lease {
	l = l.Next(node)
	l.Token = t.token(l.Token)
	return l
}

// token raises a new token above those of earlier timelines.
func (t *tx) token(n uint64) uint64 { return max(n, t.floor+1) }

// stamp is a time as a column has it.
func stamp(at time.Time) int64 {
	if at.IsZero() {
		return math.MinInt64
	}
	return at.UnixNano()
}

func timeOf(n int64) time.Time {
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// when is the time of a change: the caller's, else the clock's.
func (t *tx) when(at time.Time) time.Time {
	if at.IsZero() {
		return t.now()
	}
	return at
}

func named(err error, what string, id any) error {
	if err != nil {
		return fmt.Errorf("%s %v: %w", what, id, err)
	}
	return nil
}
