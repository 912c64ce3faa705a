package solve_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

func defaults() solve.Defaults {
	return solve.Defaults{
		Models: []string{"small", "large"}, Temps: []float64{0.2, 0.6}, Edits: []int{0}, Strategies: []string{"plain"},
		Agents: []string{"mini"}, Repeat: 1, MaxExperiments: 24,
		Limits:       solve.Limits{Parallel: 4, SolveMoney: 10_000_000, SolveTime: time.Hour, RunSteps: 80},
		StrategyText: map[string]string{"plain": "", "test-first": "Write a test first."},
		KnownModels:  []string{"small", "large", "fixed", "deaf"}, KnownAgents: []string{"mini"},
	}
}

func takes(model string) solve.TemperatureRule {
	switch model {
	case "fixed":
		return solve.TemperatureRefused
	case "deaf":
		return solve.TemperatureIgnored
	}
	return solve.TemperatureAccepted
}

func cells(p solve.Plan) []string {
	var out []string
	for _, x := range p.Experiments {
		temp := "-"
		if x.Temperature != nil {
			temp = fmt.Sprint(*x.Temperature)
		}
		out = append(out, fmt.Sprintf("%s %s e%d %s %s %d", x.Model, temp, x.MaxEdits, x.Strategy, x.Agent, x.Repeat))
	}
	return out
}

func TestExpandOrderAndDefaults(t *testing.T) {
	t.Parallel()
	plan, err := solve.Expand(solve.Request{
		Models: []string{"large", "small", "large"}, Edits: []int{3, 0, 3}, Repeat: 2, Temps: []float64{0.5, 0.5},
	}, defaults(), takes)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"large 0.5 e3 plain mini 1", "large 0.5 e3 plain mini 2", "large 0.5 e0 plain mini 1", "large 0.5 e0 plain mini 2",
		"small 0.5 e3 plain mini 1", "small 0.5 e3 plain mini 2", "small 0.5 e0 plain mini 1", "small 0.5 e0 plain mini 2",
	}
	if diff := cmp.Diff(want, cells(plan)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"small", "large"}, plan.Order); diff != "" {
		t.Errorf("order is not the configured one: %s", diff)
	}
	plan, err = solve.Expand(solve.Request{}, defaults(), takes)
	if err != nil || len(plan.Experiments) != 4 || plan.Limits != defaults().Limits || plan.Notes != nil {
		t.Errorf("defaults: %v %+v", err, plan)
	}
}

func TestExpandCollapsesTemperature(t *testing.T) {
	t.Parallel()
	plan, err := solve.Expand(solve.Request{
		Models: []string{"fixed", "small", "deaf"}, Temps: []float64{0, 0.5, 1}, Strategies: []string{"plain", "test-first"},
	}, defaults(), takes)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"fixed - e0 plain mini 1", "fixed - e0 test-first mini 1",
		"small 0 e0 plain mini 1", "small 0 e0 test-first mini 1", "small 0.5 e0 plain mini 1",
		"small 0.5 e0 test-first mini 1", "small 1 e0 plain mini 1", "small 1 e0 test-first mini 1",
		"deaf - e0 plain mini 1", "deaf - e0 test-first mini 1",
	}
	if diff := cmp.Diff(want, cells(plan)); diff != "" {
		t.Error(diff)
	}
	notes := []string{
		"model fixed takes no temperature, so 6 of its experiments became 2",
		"model deaf takes no temperature, so 6 of its experiments became 2",
	}
	if diff := cmp.Diff(notes, plan.Notes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"test-first": "Write a test first."}, plan.StrategyText); diff != "" {
		t.Error(diff)
	}
}

// A collapsed axis counts as one, so a matrix is not refused for cells that would not run.
func TestExpandCountsAfterTheCollapse(t *testing.T) {
	t.Parallel()
	def := defaults()
	def.MaxExperiments = 1
	if _, err := solve.Expand(solve.Request{Models: []string{"fixed"}, Temps: []float64{0, 1}}, def, takes); err != nil {
		t.Error(err)
	}
}

func TestExpandTellsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := solve.Expand(solve.Request{
		Models: []string{"smal", "zzzzzzzz"}, Temps: []float64{2.5, -1, math.NaN()}, Edits: []int{-1}, Strategies: []string{"testfirst"},
		Agents: []string{"nini"}, Repeat: -1, Parallel: -1, Budget: -1, TimeBudget: -time.Second,
	}, defaults(), takes)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`unknown model "smal": did you mean "small"?`, `unknown model "zzzzzzzz": valid are small, large, fixed, deaf`,
		"temperature 2.5 is outside 0 to 2", "temperature -1 is outside", "temperature NaN is outside",
		"max edits -1 is negative", `unknown strategy "testfirst": did you mean "test-first"?`, `unknown agent "nini": did you mean "mini"?`,
		"repeat -1 must be at least 1", "parallel -1 must be", "budget -<$0.0001 is negative", "time budget -1s is negative",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

func TestExpandRefusesTooManyAndNone(t *testing.T) {
	t.Parallel()
	_, err := solve.Expand(solve.Request{Repeat: 7}, defaults(), takes)
	for _, want := range []string{"28 experiments", "limit of 24", "solver.max_experiments"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in %v", want, err)
		}
	}
	_, err = solve.Expand(solve.Request{Repeat: math.MaxInt}, defaults(), takes)
	if err == nil || !strings.Contains(err.Error(), "over a million") {
		t.Errorf("huge: %v", err)
	}
	def := defaults()
	def.MaxExperiments = 0
	if _, err = solve.Expand(solve.Request{Repeat: 7}, def, takes); err == nil || !strings.Contains(err.Error(), "limit of 24") {
		t.Errorf("default limit: %v", err)
	}
	def = defaults()
	def.Models, def.Agents = nil, nil
	_, err = solve.Expand(solve.Request{}, def, takes)
	for _, want := range []string{"matrix is empty", "solver.defaults.models", "solver.defaults.agents"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in %v", want, err)
		}
	}
}

// An axis without values is one value: nothing is sent, nothing is limited, nothing is added.
func TestExpandEmptyAxes(t *testing.T) {
	t.Parallel()
	plan, err := solve.Expand(solve.Request{}, solve.Defaults{Models: []string{"any"}, Agents: []string{"mini"}}, takes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"any - e0  mini 1"}, cells(plan)); diff != "" {
		t.Error(diff)
	}
}

func TestExpandNarrowsLimitsAndNeverWidens(t *testing.T) {
	t.Parallel()
	plan, err := solve.Expand(solve.Request{Parallel: 2, Budget: 1_500_000, TimeBudget: time.Minute}, defaults(), takes)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults().Limits
	want.Parallel, want.SolveMoney, want.SolveTime = 2, 1_500_000, time.Minute
	if plan.Limits != want || len(plan.Notes) != 0 {
		t.Errorf("%+v %v", plan.Limits, plan.Notes)
	}
	plan, err = solve.Expand(solve.Request{Parallel: 9, Budget: 50_000_000, TimeBudget: 3 * time.Hour}, defaults(), takes)
	if err != nil || plan.Limits != defaults().Limits {
		t.Fatalf("%v %+v", err, plan.Limits)
	}
	notes := []string{
		"parallel=9 exceeds the limit, so 4 is used", "budget=$50.00 exceeds the limit, so $10.00 is used",
		"a time budget of 3h 0m exceeds the limit, so 1h 0m is used",
	}
	if diff := cmp.Diff(notes, plan.Notes); diff != "" {
		t.Error(diff)
	}
	def := defaults()
	def.Limits = solve.Limits{}
	plan, err = solve.Expand(solve.Request{Parallel: 9, Budget: 5}, def, takes)
	if err != nil || plan.Limits.Parallel != 9 || plan.Limits.SolveMoney != 5 {
		t.Errorf("no limit: %v %+v", err, plan.Limits)
	}
}

// The plan has no cell twice, only valid cells, and as many as the axes say.
func TestExpandProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		req := solve.Request{
			Models: rapid.SliceOfN(rapid.SampledFrom([]string{"small", "large", "fixed", "deaf"}), 0, 5).Draw(t, "models"),
			Temps:  rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.2, 0.7, 2}), 0, 4).Draw(t, "temps"),
			Edits:  rapid.SliceOfN(rapid.IntRange(0, 2), 0, 4).Draw(t, "edits"),
			Repeat: rapid.IntRange(0, 3).Draw(t, "repeat"),
		}
		plan, err := solve.Expand(req, defaults(), takes)
		if err != nil {
			if !strings.Contains(err.Error(), "solver.max_experiments") {
				t.Fatal(err)
			}
			return
		}
		got := cells(plan)
		again, _ := solve.Expand(req, defaults(), takes)
		if len(got) == 0 || len(got) > 24 || !slices.Equal(got, cells(again)) {
			t.Fatalf("%d cells", len(got))
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != len(plan.Experiments) {
			t.Fatal("a cell twice")
		}
		for _, x := range plan.Experiments {
			if (x.Temperature == nil) != (takes(x.Model) != solve.TemperatureAccepted) {
				t.Fatalf("%+v", x)
			}
		}
	})
}
