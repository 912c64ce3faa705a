package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/postgres"
)

// alone is a store that a home has for itself.
func alone(t *testing.T, c postgres.Config, home string) *postgres.Store {
	t.Helper()
	c.Home, c.Process = home, "machine "+home
	return open(t, c)
}

func lost(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, solve.ErrLeaseLost) {
		t.Errorf("%s: %v, want a lost lease", what, err)
	}
}

// TestAnotherHomeWaitsForTheLease, changes nothing meanwhile, and is then the only one that gets leases.
func TestAnotherHomeWaitsForTheLease(t *testing.T) {
	t.Parallel()
	c := config(t)
	first, ctx := alone(t, c, "a"), t.Context()
	if err := first.Heartbeat(ctx, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	before := state(t, c)
	other := c
	other.Home = "b"
	refused(t, other, "another yudai works on it (machine a; its lease has 1h0m0s left)", "stop that one")
	if _, err := postgres.Open(ctx, other); !errors.Is(err, postgres.ErrTaken) {
		t.Errorf("%v", err)
	}
	if after := state(t, c); after != before {
		t.Errorf("it was changed:\n%s\n%s", before, after)
	}
	if err := errors.Join(first.Heartbeat(ctx, "n1", time.Hour), first.Leave(ctx, "n1")); err != nil {
		t.Fatal(err)
	}
	second := alone(t, c, "b")
	lost(t, "the former's heartbeat", first.Heartbeat(ctx, "n1", time.Hour))
	lost(t, "the former's heartbeat as another node", first.Heartbeat(ctx, "n2", time.Hour))
	if err := second.Heartbeat(ctx, "n3", time.Hour); err != nil {
		t.Error(err)
	}
}

// TestTheSameHomeGoesOnAtOnce: a process that was killed gives back its lease and its claims, and one that lives all the same loses both.
func TestTheSameHomeGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	c := config(t)
	first, ctx := alone(t, c, "a"), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(first.Heartbeat(ctx, "n1", time.Hour))
	old := claimed(t, first, "s1", 1)
	_, err := first.Accept(ctx, solve.Delivery{GUID: "g1"}, solve.Intent{Command: &solve.Command{Kind: solve.CommandHelp}})
	must(err)
	must(first.Answer(ctx, "g1", []solve.Effect{{Key: "s1/notice", Kind: solve.EffectNotice, Solve: "s1"}}))
	claim, err := first.ClaimEffect(ctx, "s1/notice", "n1", time.Hour)
	must(err)
	must(first.SendingEffect(ctx, claim.Key, claim.Token))

	second := alone(t, c, "a")
	lost(t, "heartbeat", first.Heartbeat(ctx, "n1", time.Hour))
	lost(t, "finish", first.FinishEffect(ctx, claim.Key, claim.Token, 1, solve.Receipt{}))
	_, _, err = first.Apply(ctx, solve.Change{Solve: "s1", Token: old.Lease.Token, Event: solve.Aborted{}})
	lost(t, "apply", err)
	lost(t, "artifact", first.PutArtifact(ctx, "s1", "run-1.patch", []byte("text")))
	must(second.Heartbeat(ctx, "n2", time.Hour))
	if s, err := second.ClaimSolve(ctx, "n2"); err != nil || s.ID != "s1" {
		t.Errorf("claimed %s, %v", s.ID, err)
	}
	again, err := second.ClaimEffect(ctx, claim.Key, "n2", time.Hour)
	if err != nil || again.SentAt.IsZero() || again.Token <= claim.Token {
		t.Errorf("the write under way is not doubted: %+v, %v", again, err)
	}
	if text := state(t, c); strings.Count(text, "holder=") != 1 {
		t.Error(text)
	}
}
