package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

func identifiers(all []report.Action) string {
	var out []string
	for _, a := range all {
		out = append(out, a.Identifier)
	}
	return strings.Join(out, " ")
}

// every are views of every state: as sampled, hostile, without runs, with every
// run in every state.
func every(state solve.State) []report.View {
	v := sample(state)
	none := v
	none.Runs = nil
	out := []report.View{v, hostile(sample(state)), none}
	for _, rs := range solve.RunStates() {
		all := v
		all.Runs = slices.Clone(v.Runs)
		for i := range all.Runs {
			all.Runs[i].State = rs
		}
		out = append(out, all)
	}
	return out
}

// GitHub refuses the whole check run for one button too many or too long.
func TestButtonsFitGitHub(t *testing.T) {
	t.Parallel()
	for _, state := range solve.States() {
		for _, v := range every(state) {
			checks := []report.Check{report.CheckOf(v)}
			for n := range 7 {
				checks = append(checks, report.RunCheckOf(v, n))
			}
			for _, c := range checks {
				if len(c.Actions) > 3 {
					t.Errorf("%s: %d buttons", state, len(c.Actions))
				}
				for _, a := range c.Actions {
					for text, most := range map[string]int{a.Label: 20, a.Description: 40, a.Identifier: 20} {
						if n := utf8.RuneCountInString(text); n == 0 || n > most {
							t.Errorf("%s: %q has %d characters, allowed are 1 to %d", state, text, n, most)
						}
					}
				}
			}
		}
	}
}

func TestButtonsOfTheSolve(t *testing.T) {
	t.Parallel()
	passed := func(v report.View, n ...int) report.View {
		v.Runs = slices.DeleteFunc(slices.Clone(v.Runs), func(r solve.Run) bool { return !slices.Contains(n, r.N) })
		d := solve.Reduce(v.Runs, solve.Rule{})
		v.Solve.Decision = &d
		return v
	}
	refused := passed(sample(solve.StateSolved), 1, 2)
	c := *refused.Runs[0].Candidate
	c.Refused = "it holds a secret"
	refused.Runs[0].Candidate = &c
	stopping := sample(solve.StateRunning)
	stopping.Solve.CancelAt = time.Unix(1, 0)
	for name, test := range map[string]struct {
		v    report.View
		want string
	}{
		"queued":                           {sample(solve.StateQueued), "cancel"},
		"preparing":                        {sample(solve.StatePreparing), "cancel"},
		"running":                          {sample(solve.StateRunning), "cancel"},
		"publishing":                       {sample(solve.StatePublishing), "cancel"},
		"being stopped":                    {stopping, ""},
		"unsolved":                         {sample(solve.StateUnsolved), "retry"},
		"failed":                           {sample(solve.StateFailed), "retry"},
		"expired":                          {sample(solve.StateExpired), "retry"},
		"cancelled":                        {sample(solve.StateCancelled), "retry"},
		"solved, some did not pass":        {sample(solve.StateSolved), "retry pick"},
		"solved, all passed":               {passed(sample(solve.StateSolved), 1, 2), "pick"},
		"solved by the only one":           {passed(sample(solve.StateSolved), 2), ""},
		"solved, only one passed":          {passed(sample(solve.StateSolved), 2, 3), "retry"},
		"solved, the runner-up is refused": {refused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := identifiers(report.CheckOf(test.v).Actions); got != test.want {
				t.Errorf("buttons %q, want %q", got, test.want)
			}
		})
	}
}

// TestResultNamesTheCheckRuns: where there is no pull request, they are what there is to look at.
func TestResultNamesTheCheckRuns(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateUnsolved)
	for address, want := range map[string]bool{"https://github.test/o/r/runs/7": true, "": false, "x) [l](http://evil.example": false} {
		v.Checks = address
		if got := strings.Contains(report.FinalComment(v), "]("+address+")"); got != want || strings.Contains(report.FinalComment(v), "evil") {
			t.Errorf("%q: named %v\n%s", address, got, report.FinalComment(v))
		}
	}
}

func TestButtonsOfRuns(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	champion := v.Solve.Decision.Champion
	want := map[int]string{1: "pick", 2: "pick", 4: "pick"}
	delete(want, champion)
	for n := 1; n <= 6; n++ {
		if got := identifiers(report.RunCheckOf(v, n).Actions); got != want[n] {
			t.Errorf("run %d of %d, champion %d: buttons %q, want %q", n, len(v.Runs), champion, got, want[n])
		}
		for _, state := range []solve.State{solve.StateRunning, solve.StatePublishing, solve.StateUnsolved, solve.StateCancelled} {
			if got := identifiers(report.RunCheckOf(sample(state), n).Actions); got != "" {
				t.Errorf("%s: run %d has buttons %q", state, n, got)
			}
		}
	}
}
