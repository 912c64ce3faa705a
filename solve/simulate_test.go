package solve_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

const someResults = `instance,model,resolved,usd,seconds,note
a,cheap,true,0.10,100,x
a,dear,1,1.00,50,
b,cheap,0,0.20,100,
b,dear,TRUE,2.00,50,
c,cheap,false,0.30,100,
c,dear,0,3.00,50,
`

// planFor is one experiment for each model, in a wave of its own under StopWaves.
func planFor(stop solve.StopRule, parallel int, models ...string) solve.Plan {
	p := solve.Plan{Stop: stop, Limits: solve.Limits{Parallel: parallel}}
	for i, m := range models {
		x := solve.Experiment{Agent: "mini", Model: m, Repeat: 1}
		if stop == solve.StopWaves {
			x.Wave = i + 1
		}
		p.Experiments = append(p.Experiments, x)
	}
	return p
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	results, err := solve.ReadResults([]byte(someResults))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		plan solve.Plan
		want solve.Simulated
	}{
		{"all", planFor(solve.StopAll, 2, "cheap", "dear"), solve.Simulated{Solved: 2, Cost: 6_600_000, Runs: 6, Time: 300 * time.Second}},
		{"old record", planFor("", 2, "cheap", "dear"), solve.Simulated{Solved: 2, Cost: 6_600_000, Runs: 6, Time: 300 * time.Second}},
		{"all, one at a time", planFor(solve.StopAll, 1, "cheap", "dear"), solve.Simulated{Solved: 2, Cost: 6_600_000, Runs: 6, Time: 450 * time.Second}},
		// a: dear passes after 50 s, half of cheap is paid. b likewise. c: both end.
		{"first green", planFor(solve.StopFirstGreen, 2, "cheap", "dear"), solve.Simulated{Solved: 2, Cost: 6_450_000, Runs: 4, Stopped: 2, Time: 200 * time.Second}},
		{"first green, one at a time", planFor(solve.StopFirstGreen, 1, "cheap", "dear"), solve.Simulated{Solved: 2, Cost: 5_600_000, Runs: 5, Unneeded: 1, Time: 400 * time.Second}},
		{"waves", planFor(solve.StopWaves, 2, "cheap", "dear"), solve.Simulated{Solved: 2, Cost: 5_600_000, Runs: 5, Unneeded: 1, Time: 400 * time.Second}},
		{"no limit at a time", planFor(solve.StopAll, 0, "dear", "cheap"), solve.Simulated{Solved: 2, Cost: 6_600_000, Runs: 6, Time: 300 * time.Second}},
	} {
		c.want.Instances = 3
		got, err := solve.Simulate(c.plan, results)
		if err != nil || got != c.want {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.name, got, err, c.want)
		}
	}
}

// TestSimulateExample: the example in the docs can be replayed, and says what the page says.
func TestSimulateExample(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/evidence/simulate-swe-bench.csv")
	if err != nil {
		t.Fatal(err)
	}
	results, err := solve.ReadResults(data)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/evidence/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []solve.Plan{
		planFor(solve.StopAll, 4, "claude-sonnet-4-5"),
		planFor(solve.StopAll, 4, "gpt-5-mini", "gpt-5"),
		planFor(solve.StopWaves, 4, "gpt-5-mini", "gpt-5", "claude-sonnet-4-5"),
	} {
		sum, err := solve.Simulate(plan, results)
		if err != nil {
			t.Fatal(err)
		}
		for _, figure := range []string{fmt.Sprintf("%.1f %%", 100*sum.Share()), fmt.Sprintf("$%.2f", float64(sum.Cost)/1e6)} {
			if !strings.Contains(string(page), figure) {
				t.Errorf("docs/evidence/simulate.md does not have %s", figure)
			}
		}
	}
}

func TestSimulateNeedsResults(t *testing.T) {
	t.Parallel()
	results, err := solve.ReadResults([]byte("instance,model,resolved,usd,temperature\na,cheap,1,0.1,0.2\na,cheap,0,0.1,0.2\nb,cheap,1,0.1,0.2\n"))
	if err != nil {
		t.Fatal(err)
	}
	warm, hot := 0.2, 0.7
	for want, x := range map[string]solve.Experiment{
		"no results of model dear; it has those of cheap":                                       {Model: "dear", Temperature: &warm},
		"no result of model cheap at temperature 0.7 on a":                                      {Model: "cheap", Temperature: &hot},
		"no result of model cheap on a":                                                         {Model: "cheap"},
		"repeat=2 needs as many results of model cheap at temperature 0.2 on b; the file has 1": {Model: "cheap", Temperature: &warm, Repeat: 2},
	} {
		_, err := solve.Simulate(solve.Plan{Experiments: []solve.Experiment{x}}, results)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := solve.Simulate(solve.Plan{}, results); err == nil {
		t.Error("a plan without experiments was simulated")
	}
}

func TestReadResultsRefuses(t *testing.T) {
	t.Parallel()
	const head = "instance,model,resolved,usd\n"
	for text, want := range map[string]string{
		"":                                "no line of names",
		head:                              "there are none",
		"instance,model\n":                "resolved, usd is missing",
		"instance,model,model,usd\n":      `"model" is there twice`,
		head + "a,b,1,0.1\na,b,maybe,1\n": `line 3: resolved is "maybe"`,
		head + "a,b,1,NaN\n":              `line 2: usd is "NaN"`,
		head + "a,b,1,-1\n":               `usd is "-1"`,
		head + ",b,1,1\n":                 "instance or model is empty",
		head + "a,b,1\n":                  "wrong number of fields",
		"instance,model,resolved,usd,seconds\na,b,1,1,0\n":     `seconds is "0"`,
		"instance,model,resolved,usd,temperature\na,b,1,1,3\n": `temperature is "3"`,
	} {
		_, err := solve.ReadResults([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	results, err := solve.ReadResults([]byte("\uFEFFModel, Instance ,usd,Resolved\nb,\"a, one\",0.5,True\n"))
	if err != nil || !slices.Equal(results.Instances, []string{"a, one"}) || !slices.Equal(results.Models, []string{"b"}) {
		t.Errorf("%+v, %v", results, err)
	}
}
