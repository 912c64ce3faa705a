package solve_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestSimulatedFiguresOfTheReadme: what README.md says of the example is what it comes to.
func TestSimulatedFiguresOfTheReadme(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/evidence/simulate-swe-bench.csv")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	results, err := solve.ReadResults(data)
	if err != nil {
		t.Fatal(err)
	}
	models := []string{"gpt-5-mini", "gpt-5", "claude-sonnet-4-5"}
	waves, err := solve.Simulate(planFor(solve.StopWaves, 4, models...), results)
	if err != nil {
		t.Fatal(err)
	}
	var best solve.Simulated
	for _, m := range models {
		alone, err := solve.Simulate(planFor(solve.StopAll, 4, m), results)
		if err != nil {
			t.Fatal(err)
		}
		if alone.Solved > best.Solved {
			best = alone
		}
	}
	figure := func(s solve.Simulated) string {
		return fmt.Sprintf("%.1f %% for $%.2f", 100*s.Share(), float64(s.Cost)/1e6)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	if want := "this plan solves " + figure(waves) + ", if every candidate is judged correctly; the best of them alone solves " + figure(best); !strings.Contains(text, want) {
		t.Errorf("README.md does not say: %s", want)
	}
	if !strings.Contains(text, "plan --simulate docs/evidence/simulate-swe-bench.csv --stop waves --models "+strings.Join(models, ",")) {
		t.Error("README.md has another command")
	}
}
