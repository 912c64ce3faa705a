package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestDemoWantsItsChampion is about the exit code: only the expected champion is a success.
func TestDemoWantsItsChampion(t *testing.T) {
	t.Parallel()
	view := func(state solve.State, champion int) report.View {
		v := report.View{Solve: solve.Solve{State: state, Reason: "why", Decision: &solve.Decision{Champion: champion}}}
		for i, model := range strings.Split(demoModels, ",") {
			v.Runs = append(v.Runs, solve.Run{N: i + 1, Experiment: solve.Experiment{Model: model}})
		}
		return v
	}
	for name, c := range map[string]struct {
		v    report.View
		real string
		want string
	}{
		"careful":          {view(solve.StateSolved, 5), "", ""},
		"cheater":          {view(solve.StateSolved, 1), "", "the champion is cheater, expected careful"},
		"none":             {view(solve.StateUnsolved, 0), "", "the solve ended unsolved: why"},
		"real model":       {view(solve.StateSolved, 1), "gpt-5", ""},
		"real model fails": {view(solve.StateFailed, 0), "gpt-5", "the solve ended failed: why"},
	} {
		got := ""
		if err := (&demo{model: c.real}).expected(c.v); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestProgress shows one line for each change where there is no terminal, and
// a table over the last one where there is.
func TestProgress(t *testing.T) {
	t.Parallel()
	v := report.View{
		Solve: solve.Solve{State: solve.StateRunning},
		Runs:  []solve.Run{{N: 1, State: solve.RunWorking, Experiment: solve.Experiment{Model: "quick"}}, {N: 2, State: solve.RunQueued, Experiment: solve.Experiment{Model: "a-long-name"}}},
	}
	began := time.Unix(0, 0)
	var out bytes.Buffer
	p := newProgress(&out, began)
	p.show(v, began.Add(time.Second))
	p.show(v, began.Add(2*time.Second))
	if want := "   1.0s  solve running\n   1.0s  run 1 quick: working\n"; out.String() != want {
		t.Errorf("plain lines %q, want %q", out.String(), want)
	}
	out.Reset()
	p = newProgress(&out, began)
	p.tty = true
	p.show(v, began.Add(time.Second))
	p.show(v, began.Add(2*time.Second))
	_, second, found := strings.Cut(out.String(), "\x1b[3A")
	if !found || strings.Count(second, "\x1b[2K") != 3 || strings.Count(second, "\n") != 3 {
		t.Errorf("the table of three lines is not drawn over: %q", out.String())
	}
	if !strings.Contains(second, "quick        working") || !strings.Contains(second, "a-long-name  queued") {
		t.Errorf("names and states do not line up:\n%s", second)
	}
}
