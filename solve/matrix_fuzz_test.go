package solve_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// FuzzMatrix: whatever is asked of whatever operator's values, expanding does
// not panic, and a plan that comes out is within every bound: as many different
// experiments as allowed, each of values that somebody named, limits no wider
// than the operator's, and the same plan every time.
func FuzzMatrix(f *testing.F) {
	for _, seed := range []struct{ req, def string }{
		{`{}`, `{}`},
		{`{"Models":["large","deaf"],"Temps":[0,0.5],"Repeat":3}`, `{"Models":["small"],"Agents":["mini"],"MaxExperiments":24}`},
		{`{"Models":["a","b"],"Temps":[0,1e-320,2],"Edits":[0,-1],"Repeat":2147483647}`, `{"Agents":["mini"],"Repeat":-4}`},
		{`{"Parallel":9,"Budget":9,"TimeBudget":9}`, `{"Models":["small"],"Agents":["mini"],"Limits":{"Parallel":2,"SolveMoney":-3}}`},
		{`{"Stop":"waves","Repeat":2}`, `{"Agents":["mini"],"Waves":[{"Models":["x"],"Temps":[0.5]},{"Models":["x","y"],"Agents":["z"]}]}`},
		{`{"Stop":"waves","Models":["b","a","b"]}`, `{"Agents":["mini"],"Stop":"first_green"}`},
		{`{"Strategies":["plain",""],"Edits":[1,2,3]}`, `{"Models":["x"],"Agents":["y"],"StrategyText":{"plain":""},"KnownModels":[],"MaxExperiments":-1}`},
	} {
		f.Add([]byte(seed.req), []byte(seed.def))
	}
	f.Fuzz(func(t *testing.T, wish, operator []byte) {
		var req solve.Request
		var def solve.Defaults
		if json.Unmarshal(wish, &req) != nil || json.Unmarshal(operator, &def) != nil {
			return
		}
		plan, err := solve.Expand(req, def, takes)
		again, err2 := solve.Expand(req, def, takes)
		if diff := cmp.Diff(plan, again); diff != "" || (err == nil) != (err2 == nil) {
			t.Fatalf("two plans of one request: %s", diff)
		}
		if err != nil {
			if len(plan.Experiments) > 0 {
				t.Errorf("an error and %d experiments", len(plan.Experiments))
			}
			return
		}
		checkCells(t, plan, req, def)
		checkLimits(t, plan.Limits, def.Limits)
	})
}

func checkCells(t *testing.T, plan solve.Plan, req solve.Request, def solve.Defaults) {
	t.Helper()
	most := def.MaxExperiments
	if most == 0 {
		most = solve.DefaultMaxExperiments
	}
	if n := len(plan.Experiments); n < 1 || n > most {
		t.Errorf("%d experiments, allowed are 1 to %d", n, most)
	}
	models, agents := append(req.Models, def.Models...), append(req.Agents, def.Agents...)
	for _, w := range def.Waves {
		models, agents = append(models, w.Models...), append(agents, w.Agents...)
	}
	wave := 1
	for _, x := range plan.Experiments {
		if waves := plan.Stop == solve.StopWaves; waves != (x.Wave > 0) || waves && x.Wave != wave && x.Wave != wave+1 {
			t.Errorf("wave %d after wave %d under %q", x.Wave, wave, plan.Stop)
		}
		wave = max(wave, x.Wave)
	}
	seen := map[string]bool{}
	for i, x := range plan.Experiments {
		text := cells(solve.Plan{Experiments: []solve.Experiment{x}})[0]
		if seen[text] {
			t.Errorf("experiment %d is there twice: %s", i, text)
		}
		seen[text] = true
		if !slices.Contains(models, x.Model) || !slices.Contains(agents, x.Agent) {
			t.Errorf("nobody named %s", text)
		}
		if x.Temperature != nil && (math.IsNaN(*x.Temperature) || *x.Temperature < 0 || *x.Temperature > 2 || takes(x.Model) != solve.TemperatureAccepted) {
			t.Errorf("temperature of %s", text)
		}
		if x.MaxEdits < 0 || x.Repeat < 1 {
			t.Errorf("edits or repeat of %s", text)
		}
	}
}

// checkLimits fails if a limit is wider than the operator's, of which 0 is none.
func checkLimits(t *testing.T, got, allowed solve.Limits) {
	t.Helper()
	wider := func(a, b int64) bool { return b > 0 && (a <= 0 || a > b) }
	if wider(int64(got.Parallel), int64(allowed.Parallel)) || wider(int64(got.SolveMoney), int64(allowed.SolveMoney)) ||
		wider(int64(got.SolveTime), int64(allowed.SolveTime)) {
		t.Errorf("limits %+v are wider than the operator's %+v", got, allowed)
	}
	got.Parallel, got.SolveMoney, got.SolveTime = allowed.Parallel, allowed.SolveMoney, allowed.SolveTime
	if diff := cmp.Diff(allowed, got); diff != "" {
		t.Errorf("other limits changed: %s", diff)
	}
}
