package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// TestViewsHaveTheColumnsOfTheFirstDesign and tell of a run that has begun.
func TestViewsHaveTheColumnsOfTheFirstDesign(t *testing.T) {
	t.Parallel()
	c := config(t)
	s, ctx := open(t, c), t.Context()
	if err := s.Heartbeat(ctx, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	one := claimed(t, s, "s1", 7)
	warm := 0.5
	run := solve.Run{N: 1, Experiment: solve.Experiment{Model: "m", Temperature: &warm, MaxEdits: 3, Strategy: "plain"}}
	for _, ev := range []solve.Event{solve.Claimed{}, solve.BaseReady{Runs: []solve.Run{run}}} {
		if _, _, err := s.Apply(ctx, solve.Change{Solve: "s1", Token: one.Lease.Token, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(ctx, c.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for view, want := range map[string]map[string]any{
		"solves": {"id": "s1", "repo": "owner/name", "issue": int64(7), "base_branch": "main", "status": "running"},
		"solve_runs": {
			"id": "s1/1", "solve_id": "s1", "model": "m", "temp": 0.5, "max_edits": int32(3), "evolution": "plain", "status": "queued",
			"pr_url": nil, "tests_passed": nil, "loc_changed": nil, "files_changed": nil, "tokens": int64(0), "latency_ms": int64(0),
			"logs_url": "/solve/s1/runs/1/log",
		},
	} {
		rows, err := conn.Query(ctx, "select * from "+view)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := got["created_at"].(time.Time); ok && time.Since(at) < time.Hour {
			delete(got, "created_at")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", view, diff)
		}
	}
}
