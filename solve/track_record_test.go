package solve_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

var (
	small = solve.Arm{Model: "small", Agent: "mini", Strategy: "plain"}
	large = solve.Arm{Model: "large", Agent: "mini", Strategy: "plain"}
)

// recordOf is a track record of a repository after solves with such trials of the arm small.
func recordOf(repo solve.Repo, solves ...[]float64) solve.TrackRecord {
	t := solve.TrackRecord{Repo: repo}
	for _, s := range solves {
		var trials []solve.Trial
		for _, right := range s {
			trials = append(trials, solve.Trial{Arm: small, Right: right, Weight: 1})
		}
		t.Add(trials)
	}
	return t
}

func TestRateOf(t *testing.T) {
	t.Parallel()
	here, other, foreign := solve.Repo{ID: 1, Installation: 7}, solve.Repo{ID: 2, Installation: 7}, solve.Repo{ID: 3, Installation: 8}
	right := func(n int) (out [][]float64) { return slices.Repeat([][]float64{{1}}, n) }
	for name, c := range map[string]struct {
		records    []solve.TrackRecord
		percent    int
		won, known int
	}{
		"nothing is known":                   {percent: 50},
		"one right here":                     {[]solve.TrackRecord{recordOf(here, []float64{1})}, 56, 1, 1},
		"one wrong here":                     {[]solve.TrackRecord{recordOf(here, []float64{0})}, 44, 0, 1},
		"one of two of one solve":            {[]solve.TrackRecord{recordOf(here, []float64{1, 0})}, 50, 1, 2},
		"a half is not known":                {[]solve.TrackRecord{recordOf(here, []float64{0.5})}, 50, 0, 0},
		"one right elsewhere":                {[]solve.TrackRecord{recordOf(other, []float64{1})}, 67, 0, 0},
		"the other repositories are a start": {[]solve.TrackRecord{recordOf(other, right(500)...), recordOf(here, []float64{0})}, 87, 0, 1},
		"another installation's":             {[]solve.TrackRecord{recordOf(foreign, right(9)...)}, 50, 0, 0},
		"the old fades":                      {[]solve.TrackRecord{recordOf(here, append(right(34), make([][]float64, 34)...)...)}, 80, 34, 34},
	} {
		got := solve.RateOf(small, here, c.records)
		if got.Percent() != c.percent || got.Won != c.won || got.Known != c.known {
			t.Errorf("%s: %d %%, %d of %d; want %d %%, %d of %d", name, got.Percent(), got.Won, got.Known, c.percent, c.won, c.known)
		}
		if got := solve.RateOf(large, here, c.records).Percent(); got != 50 {
			t.Errorf("%s: the other arm has %d %%", name, got)
		}
	}
}

func TestInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ won, known, low, high int }{
		{0, 0, 0, 100}, {7, 19, 19, 59}, {0, 5, 0, 43}, {5, 5, 57, 100}, {500, 1000, 47, 53},
	} {
		if low, high := (solve.Rate{Won: c.won, Known: c.known}).Interval(); low != c.low || high != c.high {
			t.Errorf("%d of %d: %d to %d, want %d to %d", c.won, c.known, low, high, c.low, c.high)
		}
	}
}

// TestUseRecords: the experiments get their rates, and stand in their waves with the better arm first.
func TestUseRecords(t *testing.T) {
	t.Parallel()
	here := solve.Repo{ID: 1, Installation: 7}
	bad := []solve.TrackRecord{recordOf(here, []float64{0, 0, 0})}
	plan := func(stop solve.StopRule) solve.Plan {
		var p solve.Plan
		p.Stop = stop
		for _, arm := range []solve.Arm{small, large, small} {
			p.Experiments = append(p.Experiments, solve.Experiment{Model: arm.Model, Agent: arm.Agent, Strategy: arm.Strategy, Wave: 1})
		}
		p.Experiments[2].Wave = 2
		return p
	}
	for name, c := range map[string]struct {
		stop    solve.StopRule
		records []solve.TrackRecord
		models  []string
		record  []int
	}{
		"none":                  {solve.StopWaves, nil, []string{"small", "large", "small"}, []int{0, 0, 0}},
		"of another":            {solve.StopWaves, []solve.TrackRecord{recordOf(solve.Repo{ID: 2}, []float64{0})}, []string{"small", "large", "small"}, []int{0, 0, 0}},
		"waves":                 {solve.StopWaves, bad, []string{"large", "small", "small"}, []int{50, 36, 36}},
		"all":                   {solve.StopAll, bad, []string{"small", "large", "small"}, []int{36, 50, 36}},
		"first green, as asked": {solve.StopFirstGreen, bad, []string{"small", "large", "small"}, []int{36, 50, 36}},
	} {
		p := plan(c.stop)
		p.UseRecords(here, c.records)
		var models []string
		var record []int
		for _, x := range p.Experiments {
			models, record = append(models, x.Model), append(record, x.Record)
		}
		if diff := cmp.Diff(c.models, models) + cmp.Diff(c.record, record); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestForgettingHalves: after 34 solves a trial counts for half.
func TestForgettingHalves(t *testing.T) {
	t.Parallel()
	t0 := recordOf(solve.Repo{ID: 1}, append([][]float64{{1}}, make([][]float64, 34)...)...)
	if r := solve.RateOf(small, solve.Repo{ID: 1}, []solve.TrackRecord{t0}); math.Abs(r.Alpha-4.5) > 0.01 || r.Beta != 4 {
		t.Errorf("%+v", r)
	}
}
