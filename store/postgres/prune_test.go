package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// rows counts those of a table.
func rows(t *testing.T, dsn, table string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOldFilesAndDeliveriesArePruned: what a solve that lives or ended lately has is kept, and so are solves.
func TestOldFilesAndDeliveriesArePruned(t *testing.T) {
	t.Parallel()
	c := config(t)
	now := time.Now().UTC()
	c.KeepDeliveries, c.KeepLogs = 4*24*time.Hour, 2*time.Hour
	s, ctx := open(t, c), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for guid, age := range map[string]time.Duration{"old": 5 * 24 * time.Hour, "young": 3 * 24 * time.Hour} {
		_, err := s.Accept(ctx, solve.Delivery{GUID: guid, Event: "ping", Received: now.Add(-age)}, solve.Intent{})
		must(err)
	}
	for i, id := range []solve.ID{"lives", "ended"} {
		one := solve.Solve{ID: id, Repo: solve.Repo{ID: 1}, Created: now}
		one.Trigger.Key, one.Issue.Number = string(id), i+1
		_, _, err := s.Create(ctx, one)
		must(err)
		must(s.PutArtifact(ctx, id, "run-1.patch", []byte("text")))
		sql(t, c.DSN, "insert into transcript (solve, run, attempt, lines) values ($1, 1, 1, 'x')", id)
		sql(t, c.DSN, "insert into doubt (owner, at) values ($1, 0)", id)
	}
	_, err := s.RequestCancel(ctx, "ended", "alice", "")
	must(err)
	count := func(want map[string]int) {
		t.Helper()
		for table, n := range want {
			if got := rows(t, c.DSN, table); got != n {
				t.Errorf("%s has %d rows, want %d", table, got, n)
			}
		}
	}
	must(s.Prune(ctx, now.Add(time.Hour)))
	count(map[string]int{"delivery": 1, "solve": 2, "transcript": 2, "artifact": 2, "doubt": 2})
	must(s.Prune(ctx, now.Add(3*time.Hour)))
	count(map[string]int{"delivery": 1, "solve": 2, "transcript": 1, "artifact": 1, "doubt": 1})
	if _, err := s.Artifact(ctx, "lives", "run-1.patch"); err != nil {
		t.Error(err)
	}
	if n, err := s.Bytes(ctx); err != nil || n < 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n := s.Commits(); n < 7 {
		t.Errorf("%d commits", n)
	}
}
