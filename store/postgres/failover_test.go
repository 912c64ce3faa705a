package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/postgres"
	server "github.com/yudai-dev/yudai/test/postgres"
	"github.com/yudai-dev/yudai/test/require"
)

// wish is a solve as a handler makes it.
func wish(id string, issue int) solve.Solve {
	return solve.Solve{
		ID: solve.ID(id), Repo: solve.Repo{Installation: 1, ID: 1, Owner: "owner", Name: "name", DefaultBranch: "main"},
		Issue: solve.Issue{Number: issue, Title: "title\x00"}, Trigger: solve.Trigger{Kind: solve.TriggerLabel, Key: id, Actor: "me"},
	}
}

// claimed makes a solve and gives it to a node.
func claimed(t *testing.T, s *postgres.Store, id string, issue int) solve.Solve {
	t.Helper()
	_, _, err := s.Create(t.Context(), wish(id, issue))
	one, claim := s.ClaimSolve(t.Context(), "n1")
	if err := errors.Join(err, claim); err != nil {
		t.Fatal(err)
	}
	return one
}

// TestAfterAFailoverTheStoreDoubts: what waits is looked up before it is made, and no
// token of before is given out again, although nobody opened the store again.
func TestAfterAFailoverTheStoreDoubts(t *testing.T) {
	t.Parallel()
	require.Need(t, "postgres", server.Missing())
	own, err := server.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s, ctx := open(t, configOn(t, own)), t.Context()
	if err := s.Heartbeat(ctx, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	old := claimed(t, s, "s1", 1)
	waits := solve.Effect{Key: "s1/notice", Kind: solve.EffectNotice, Solve: "s1"}
	if ok, err := s.Accept(ctx, solve.Delivery{GUID: "g1"}, solve.Intent{Command: &solve.Command{Kind: solve.CommandHelp}}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := s.Answer(ctx, "g1", []solve.Effect{waits}); err != nil {
		t.Fatal(err)
	}
	sentAt := func(k string) time.Time {
		t.Helper()
		e, err := s.Effect(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		return e.SentAt
	}
	if old.Lease.Token != 1 || !sentAt(waits.Key).IsZero() {
		t.Fatalf("before: token %d, sent %v", old.Lease.Token, sentAt(waits.Key))
	}
	if err := own.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	patient(t, func() error { _, err := s.LiveSolves(ctx); return err })
	if sentAt(waits.Key).IsZero() {
		t.Error("an effect that waited is not doubted")
	}
	// What the living solve wants from now on is doubted too; what a new one wants is not.
	if _, _, err := s.Apply(ctx, solve.Change{Solve: "s1", Token: old.Lease.Token, Event: solve.Aborted{}}); err != nil {
		t.Fatal(err)
	}
	list, err := s.SolveEffects(ctx, "s1")
	if err != nil || len(list) < 2 {
		t.Fatal(list, err)
	}
	for _, e := range list {
		if e.SentAt.IsZero() {
			t.Errorf("effect %s is not doubted", e.Key)
		}
	}
	young := claimed(t, s, "s2", 2)
	if young.Lease.Token != 1<<32+1 {
		t.Errorf("token %d is not of timeline 2", young.Lease.Token)
	}
	if _, _, err := s.Apply(ctx, solve.Change{Solve: "s2", Token: 1, Event: solve.Aborted{}}); !errors.Is(err, solve.ErrLeaseLost) {
		t.Errorf("a token that was lost writes: %v", err)
	}
	if _, _, err := s.Apply(ctx, solve.Change{Solve: "s2", Token: young.Lease.Token, Event: solve.Aborted{}}); err != nil {
		t.Fatal(err)
	}
	if list, err = s.SolveEffects(ctx, "s2"); err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, e := range list {
		if !e.SentAt.IsZero() {
			t.Errorf("effect %s of a new solve is doubted", e.Key)
		}
	}
}

// TestADumpThatWasRestoredIsDoubted where its operator says so, as docs/postgresql.md asks: its server and timeline are the old ones.
func TestADumpThatWasRestoredIsDoubted(t *testing.T) {
	t.Parallel()
	c := config(t)
	s, ctx := open(t, c), t.Context()
	if _, err := s.Accept(ctx, solve.Delivery{GUID: "g1"}, solve.Intent{Command: &solve.Command{Kind: solve.CommandHelp}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(ctx, "g1", []solve.Effect{{Key: "s1/notice", Kind: solve.EffectNotice, Solve: "s1"}}); err != nil {
		t.Fatal(err)
	}
	sql(t, c.DSN, "update meta set value = 'restored' where name = 'origin'")
	if e, err := open(t, c).Effect(ctx, "s1/notice"); err != nil || e.SentAt.IsZero() {
		t.Errorf("it is not doubted: %v, %v", e, err)
	}
}

// patient repeats what fails while connections break.
func patient(t *testing.T, fn func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for err := fn(); err != nil; err = fn() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// TestTheDatabasesClockDecides where no other is given, and another node hears of changes.
func TestTheDatabasesClockDecides(t *testing.T) {
	t.Parallel()
	c := config(t)
	a, b := open(t, c), open(t, c)
	watch := b.Watch(t.Context())
	if err := a.Heartbeat(t.Context(), "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	one := claimed(t, a, "s1", 1)
	if d := time.Since(one.Created); d < -time.Minute || d > time.Minute {
		t.Errorf("created %v ago", d)
	}
	select {
	case <-watch:
	case <-time.After(time.Minute):
		t.Error("the other node did not hear of it")
	}
	sql(t, c.DSN, "update node set until = (extract(epoch from clock_timestamp()) * 1000000000)::bigint")
	if err := b.Heartbeat(t.Context(), "n1", time.Hour); !errors.Is(err, solve.ErrLeaseLost) {
		t.Errorf("a dead node was revived: %v", err)
	}
	if _, err := b.Admit(t.Context(), "n1", solve.Caps{}); !errors.Is(err, solve.ErrLeaseLost) {
		t.Errorf("a dead node admits: %v", err)
	}
}

// TestALostMachineKeepsNoLocks for longer than the server waits for it in the middle of a transaction.
func TestALostMachineKeepsNoLocks(t *testing.T) {
	t.Parallel()
	if most, err := open(t, config(t)).Setting(t.Context(), "idle_in_transaction_session_timeout"); err != nil || most != "30s" {
		t.Errorf("a transaction may idle for %q, %v", most, err)
	}
}
