package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// TestAFailureIsNoLostLease: who gives work up because of a lost lease must not do so because the database failed.
func TestAFailureIsNoLostLease(t *testing.T) {
	t.Parallel()
	c := config(t)
	s, ctx := open(t, c), t.Context()
	if err := s.Heartbeat(ctx, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	one := claimed(t, s, "s1", 1)
	sql(t, c.DSN, "alter table node rename to gone")
	_, admit := s.Admit(ctx, "n1", solve.Caps{})
	_, _, apply := s.Apply(ctx, solve.Change{Solve: one.ID, Token: one.Lease.Token, Event: solve.Claimed{}})
	for _, err := range []error{admit, apply} {
		if err == nil || errors.Is(err, solve.ErrLeaseLost) {
			t.Errorf("without the nodes: %v", err)
		}
	}
}

// TestTheServersDefaultDoesNotDecide: what changes while a transaction waits for its lock is seen, on a server
// whose transactions see one state from their first statement by default.
func TestTheServersDefaultDoesNotDecide(t *testing.T) {
	t.Parallel()
	c := config(t)
	plain := c.DSN
	c.DSN += ` options='-c default_transaction_isolation=serializable'`
	s, ctx := open(t, c), t.Context()
	if err := s.Heartbeat(ctx, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, plain)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	tx, err := conn.Begin(ctx)
	if err == nil {
		_, err = tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('yudai assign ' || current_schema(), 0))")
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Admit(ctx, "n1", solve.Caps{})
		done <- err
	}()
	patient(t, func() error {
		var waits bool
		err := tx.QueryRow(ctx, `select exists (select from pg_locks a join pg_locks b using (classid, objid)
			where a.locktype = 'advisory' and not a.granted and b.pid = pg_backend_pid() and b.granted)`).Scan(&waits)
		if err == nil && !waits {
			err = errors.New("nobody waits for the lock")
		}
		return err
	})
	if _, err = tx.Exec(ctx, "delete from node"); err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, solve.ErrLeaseLost) {
		t.Errorf("admitted to a node that had left: %v", err)
	}
}

// TestWhoMetAnotherWaits longer each time before it is done again, and not beyond its context.
func TestWhoMetAnotherWaits(t *testing.T) {
	t.Parallel()
	s, began := open(t, config(t)), time.Now()
	if n, err := s.InTheWay(t.Context(), func(int) {}); n != 20 || err == nil || time.Since(began) < 1900*time.Millisecond {
		t.Errorf("%d times in %v: %v", n, time.Since(began), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n, err := s.InTheWay(ctx, func(n int) {
		if n == 3 {
			cancel()
		}
	})
	if n != 3 || err == nil {
		t.Errorf("%d times with a context that ended: %v", n, err)
	}
}
