package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// wrong is a track record in which a model of the default agent was wrong so often.
func wrong(model string, times int) solve.TrackRecord {
	t := solve.TrackRecord{Repo: solve.Repo{ID: 7}}
	arm := solve.Arm{Model: model, Agent: "mini"}
	t.Add(slices.Repeat([]solve.Trial{{Arm: arm, Weight: 1}}, times))
	return t
}

// TestPlanUsesTrackRecords: experiments carry what is known of their arms, if the configuration lets plans use it.
func TestPlanUsesTrackRecords(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		w := newWorld()
		w.tracks = []solve.TrackRecord{wrong("m", 8)}
		p := w.planner()
		p.Rules.Records = on
		got, err := p.Plan(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool][]int{true: {25, 50}, false: {0, 0}}[on]
		if have := []int{got.Plan.Experiments[0].Record, got.Plan.Experiments[1].Record}; !slices.Equal(have, want) {
			t.Errorf("on %v: records %v, want %v", on, have, want)
		}
		if (len(got.Plan.Rates) == 2) != on {
			t.Errorf("on %v: rates %+v", on, got.Plan.Rates)
		}
	}
}

func TestModelsAuto(t *testing.T) {
	t.Parallel()
	w, s := newWorld(), request()
	s.Request.Models = []string{"auto"}
	w.tracks = []solve.TrackRecord{wrong("a1", 300)}
	w.ready = func(model string) error {
		if model == "c1" {
			return errors.New("no key")
		}
		return nil
	}
	p := w.planner()
	p.Rules.Defaults = func(repoconfig.Rules) solve.Defaults {
		return solve.Defaults{Models: []string{"a1"}, KnownModels: []string{"a1", "a2", "b1", "c1"}, Agents: []string{"mini"}}
	}
	chosen := map[string]int{}
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		s.ID = solve.ID(id)
		got, err := p.Plan(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var models []string
		for _, x := range got.Plan.Experiments {
			models = append(models, x.Model)
			chosen[x.Model]++
		}
		again, err := p.Plan(t.Context(), s)
		if diff := cmp.Diff(got.Plan, again.Plan); diff != "" || err != nil {
			t.Fatalf("planned again (-first +second):\n%s%v", diff, err)
		}
		if c := got.Plan.Choice; c == nil || !slices.Equal(c.Models(), models) || !slices.Contains(models, "b1") {
			t.Errorf("solve %s: %q by %+v", id, models, c)
		}
	}
	if chosen["a2"] < 20 || chosen["c1"] > 0 {
		t.Errorf("chosen %v", chosen)
	}

	for want, change := range map[string]func(){
		"solver.record":  func() { p.Rules.Records = false },
		"found no model": func() { p.Rules.Records, w.ready = true, func(string) error { return errors.New("no key") } },
	} {
		change()
		_, err := p.Plan(t.Context(), s)
		if no := (fault.Refusal{}); !errors.As(err, &no) || !strings.Contains(no.Text, want) {
			t.Errorf("%v, want a refusal with %q", err, want)
		}
	}
}
