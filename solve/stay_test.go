package solve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// TestSandboxCostFollowsFromStoredTimes: an hour at a price is that price; what is open
// counts until the last step that is stored, and what a dead owner left until the run's end.
func TestSandboxCostFollowsFromStoredTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stay := func(hourly solve.Money, closed time.Duration) solve.Stay {
		s := solve.Stay{Phase: "work", Driver: "e2b", Hourly: hourly, Opened: at}
		if closed > 0 {
			s.Closed = at.Add(closed)
		}
		return s
	}
	for name, c := range map[string]struct {
		run  solve.Run
		want solve.Money
	}{
		"closed":     {solve.Run{State: solve.RunPassed, Ended: at.Add(9 * time.Hour), Stays: []solve.Stay{stay(100_000, time.Hour)}}, 100_000},
		"two":        {solve.Run{State: solve.RunPassed, Stays: []solve.Stay{stay(100_000, time.Hour), stay(30_000, 20*time.Minute)}}, 110_000},
		"at work":    {solve.Run{State: solve.RunWorking, Progress: solve.Progress{At: at.Add(30 * time.Minute)}, Stays: []solve.Stay{stay(100_000, 0)}}, 50_000},
		"just begun": {solve.Run{State: solve.RunWorking, Stays: []solve.Stay{stay(100_000, 0)}}, 0},
		"left open":  {solve.Run{State: solve.RunCancelled, Ended: at.Add(2 * time.Hour), Stays: []solve.Stay{stay(100_000, 0)}}, 200_000},
		"free":       {solve.Run{State: solve.RunPassed, Stays: []solve.Stay{stay(0, 1000*time.Hour)}}, 0},
		"a month":    {solve.Run{State: solve.RunPassed, Stays: []solve.Stay{stay(1_000_000_000, 720*time.Hour)}}, 720_000_000_000},
	} {
		if got := c.run.SandboxCost(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestSandboxCostIsShownWhereItIsNotZero: in the scorecard, the run's own one, and the
// texts that tell what the models cost; and it is not the models' cost.
func TestSandboxCostIsShownWhereItIsNotZero(t *testing.T) {
	t.Parallel()
	paid := func(hourly solve.Money) solve.View {
		v := sample(solve.StateSolved)
		v.Solve.Base.Stays = []solve.Stay{{Phase: "prepare", Driver: "prime", Hourly: hourly, Opened: v.Solve.Started, Closed: v.Solve.Started.Add(time.Hour)}}
		for i := range v.Runs {
			v.Runs[i].Stays = []solve.Stay{{Phase: "work", Driver: "e2b", Hourly: hourly, Opened: v.Solve.Started, Closed: v.Solve.Started.Add(time.Hour)}}
		}
		return v
	}
	v := paid(2_000_000)
	champion := v.Solve.Decision.Champion
	body := solve.PullBody(v)
	for name, text := range map[string]string{
		"pull request": body, "final": solve.FinalComment(v), "progress": solve.ProgressComment(v), "status": solve.StatusText(v),
		"terminal": solve.Terminal(v, 200), "run": solve.RunCheckOf(v, champion).Summary,
	} {
		if !strings.Contains(strings.ToLower(text), "sandboxes") || !strings.Contains(text, "$2.00") && !strings.Contains(text, "for sandboxes") {
			t.Errorf("%s does not tell the cost of sandboxes:\n%s", name, text)
		}
	}
	free := paid(0)
	body = solve.PullBody(free)
	for _, text := range []string{body, solve.FinalComment(free), solve.ProgressComment(free), solve.Terminal(free, 200), solve.RunCheckOf(free, champion).Summary} {
		if strings.Contains(strings.ToLower(text), "sandboxes") {
			t.Errorf("free sandboxes are spoken of:\n%s", text)
		}
	}
	if solve.Cost(v.Runs) != solve.Cost(free.Runs) {
		t.Error("sandboxes count as model costs")
	}
	for i := range v.Runs {
		v.Runs[i].From = &solve.Origin{Solve: "x", N: 1}
	}
	if got := solve.SandboxCost(v.Solve, v.Runs); got != 2_000_000 {
		t.Errorf("carried runs are paid again: %s", got)
	}
}
