package solve_test

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// TestSandboxCostFollowsFromStoredTimes: an hour at a price is that price; what is open
// counts until the last step that is stored, and what a dead owner left until the run's end.
func TestSandboxCostFollowsFromStoredTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	use := func(hourly solve.Money, closed time.Duration) solve.SandboxUse {
		s := solve.SandboxUse{Phase: "work", Driver: "e2b", Hourly: hourly, Opened: at}
		if closed > 0 {
			s.Closed = at.Add(closed)
		}
		return s
	}
	for name, c := range map[string]struct {
		run  solve.Run
		want solve.Money
	}{
		"closed":     {solve.Run{State: solve.RunPassed, Ended: at.Add(9 * time.Hour), SandboxUses: []solve.SandboxUse{use(100_000, time.Hour)}}, 100_000},
		"two":        {solve.Run{State: solve.RunPassed, SandboxUses: []solve.SandboxUse{use(100_000, time.Hour), use(30_000, 20*time.Minute)}}, 110_000},
		"at work":    {solve.Run{State: solve.RunWorking, Progress: solve.Progress{At: at.Add(30 * time.Minute)}, SandboxUses: []solve.SandboxUse{use(100_000, 0)}}, 50_000},
		"just begun": {solve.Run{State: solve.RunWorking, SandboxUses: []solve.SandboxUse{use(100_000, 0)}}, 0},
		"left open":  {solve.Run{State: solve.RunCancelled, Ended: at.Add(2 * time.Hour), SandboxUses: []solve.SandboxUse{use(100_000, 0)}}, 200_000},
		"free":       {solve.Run{State: solve.RunPassed, SandboxUses: []solve.SandboxUse{use(0, 1000*time.Hour)}}, 0},
		"a month":    {solve.Run{State: solve.RunPassed, SandboxUses: []solve.SandboxUse{use(1_000_000_000, 720*time.Hour)}}, 720_000_000_000},
	} {
		if got := c.run.SandboxCost(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
