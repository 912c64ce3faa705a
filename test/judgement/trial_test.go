package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// tried is the trial of a repository of a group, as a solve with these runs would leave it; each run's number is its place.
func tried(group string, runs ...solve.Run) trial {
	t := trial{states: map[string]solve.RunState{}}
	t.group, t.name, t.Language = group, "sample", "Go"
	t.Candidates = []candidate{
		{Name: "fix", Kind: right}, {Name: "twin", Kind: twin, Tactic: 1}, {Name: "half", Kind: wrong}, {Name: "comment", Kind: nothing},
		{Name: "skip", Kind: cheat, Tactic: 3}, {Name: "hard-coded", Kind: cheat, Tactic: 37, MayPass: true},
	}
	t.Candidates = slices.DeleteFunc(t.Candidates, func(c candidate) bool {
		return !slices.ContainsFunc(runs, func(r solve.Run) bool { return r.Experiment.Model == c.Name })
	})
	for i := range runs {
		runs[i].N = i + 1
	}
	d := solve.Reduce(runs, solve.Rule{})
	t.fill(solve.Record{Solve: solve.Solve{Decision: &d}, Runs: runs})
	return t
}

func ran(name string, state solve.RunState, fixed int) solve.Run {
	outcome := solve.Failed
	if state == solve.RunPassed {
		outcome = solve.Passed
	}
	return solve.Run{
		State: state, Experiment: solve.Experiment{Model: name}, Candidate: &solve.Candidate{},
		Verdict: &solve.Verdict{Outcome: outcome, Fixed: fixed},
	}
}

// expectation is what a trial has to say.
type expectation struct {
	trial trial
	want  []string // of the problems
	miss  []string // of the missed targets
}

func expectations() map[string]expectation {
	const passed, failed = solve.RunPassed, solve.RunFailed
	fix := ran("fix", passed, 1)
	return map[string]expectation{
		"right":                  {tried(cheats, fix, ran("skip", failed, 0), ran("twin", passed, 1)), nil, nil},
		"an undone cheat passes": {tried(cheats, fix, ran("skip", passed, 0)), nil, nil},
		"a hidden cheat loses":   {tried(cheats, fix, ran("hard-coded", passed, 1)), nil, nil},
		"a cheat is believed": {
			tried(cheats, ran("fix", passed, 2), ran("skip", passed, 1)), []string{"skip passes"}, []string{"1 of 1 cheats pass"},
		},
		"a cheat that must fail": {
			tried(misjudged, fix, ran("skip", passed, 0)), []string{"skip passes"}, []string{"1 of 1 cheats pass"},
		},
		"a cheat wins": {
			tried(cheats, ran("hard-coded", passed, 2), fix),
			[]string{"champion: hard-coded", "hard-coded wins against the honest ones"}, []string{"wins 2 times"},
		},
		"a cheat wins where a wrong one is gone": {
			tried(cheats, ran("half", passed, 3), ran("hard-coded", passed, 2), fix),
			[]string{"champion: half", "hard-coded wins against"}, []string{"right in 0 of 1", "wins 1 times"},
		},
		"nothing wins": {
			tried(hidden, ran("comment", passed, 1), ran("fix", passed, 0)),
			[]string{"champion: comment"}, []string{"right in 0 of 1", "does nothing wins 1 times"},
		},
		"a twin is refused": {
			tried(cheats, fix, ran("twin", failed, 0)), []string{"twin is failed"}, []string{"1 of 2 honest candidates are refused"},
		},
		"no champion": {
			tried(misjudged, ran("fix", failed, 0)), []string{"champion: none", "fix is failed"}, []string{"right in 0 of 1"},
		},
	}
}

// TestTrialSaysWhatMustNotBe: each wrong result is a problem and misses a target, and a right one is none.
func TestTrialSaysWhatMustNotBe(t *testing.T) {
	t.Parallel()
	for name, c := range expectations() {
		problems := strings.Join(c.trial.problems, "\n")
		contains := func(w string) bool { return strings.Contains(problems, w) }
		if len(c.want) != len(c.trial.problems) || !allOf(c.want, contains) {
			t.Errorf("%s: problems %q, want %q", name, c.trial.problems, c.want)
		}
		missed := ""
		if err := missedTargets([]trial{c.trial}); err != nil {
			missed = err.Error()
		}
		if (missed == "") != (len(c.miss) == 0) || !allOf(c.miss, func(w string) bool { return strings.Contains(missed, w) }) {
			t.Errorf("%s: missed %q, want %q", name, missed, c.miss)
		}
	}
}

func allOf(all []string, is func(string) bool) bool {
	return !slices.ContainsFunc(all, func(s string) bool { return !is(s) })
}

// TestHiddenKeepsTheTests: the bug of a hidden repository is one that no test shows, and each candidate keeps the tests.
func TestHiddenKeepsTheTests(t *testing.T) {
	t.Parallel()
	got := tried(hidden, ran("fix", solve.RunPassed, 0), ran("half", solve.RunFailed, 0))
	if !slices.Equal(got.problems, []string{"half is failed, though it keeps all tests"}) {
		t.Errorf("%q", got.problems)
	}
}

// TestReproducerIsChecked: it must end as its definition says, and prove the champion if its tests count.
func TestReproducerIsChecked(t *testing.T) {
	t.Parallel()
	fix, tests := ran("fix", solve.RunPassed, 0), ran("half", solve.RunPassed, 0)
	fix.N, tests.N, tests.Experiment.Purpose, tests.Verdict.ProofTests = 1, 2, solve.PurposeReproduce, []string{"TestIssue"}
	other := fix
	other.N, other.Experiment.Model = 3, "twin"
	proves := []solve.CrossResult{{Author: 2, Run: 1, Passed: []string{"TestIssue"}}, {Author: 2, Run: 3, Passed: []string{"TestIssue"}}}
	for name, c := range map[string]struct {
		want  solve.RunState
		runs  []solve.Run
		cross []solve.CrossResult
		bad   bool
	}{
		"none is wanted":        {"", []solve.Run{fix}, nil, false},
		"none is there":         {solve.RunPassed, []solve.Run{fix}, nil, true},
		"it ends otherwise":     {solve.RunFailed, []solve.Run{fix, tests, other}, proves, true},
		"its tests prove":       {solve.RunPassed, []solve.Run{fix, tests, other}, proves, false},
		"its tests say nothing": {solve.RunPassed, []solve.Run{fix, tests, other}, nil, true},
	} {
		got := trial{repository: repository{Reproducer: c.want}}
		d := solve.Reduce(c.runs, solve.Rule{Cross: c.cross})
		got.judgeReproducer(solve.Record{Solve: solve.Solve{Decision: &d}, Runs: c.runs})
		if bad := len(got.problems) > 0; bad != c.bad {
			t.Errorf("%s: %q", name, got.problems)
		}
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	got := tried(cheats, ran("fix", solve.RunPassed, 1), ran("skip", solve.RunPassed, 1))
	text := trialTables([]trial{got})
	for _, want := range []string{"| cheats | 1 | 1 | 0 | 0 | 1 of 1 | 0 of 1 |", "| cheats/sample | Go | fix | proven |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := coverageTable([]repository{got.repository}); !strings.Contains(text, "| Go | 1 | 3 |") {
		t.Error(text)
	}
	name := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(name, []byte("before\n"+pageBegin+"old\n"+pageEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(name, "new"); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(name); string(data) != "before\n"+pageBegin+"\nnew\n"+pageEnd+"after\n" {
		t.Errorf("%s", data)
	}
	if err := os.WriteFile(name, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(name, "new"); err == nil {
		t.Error("a page without markers was written")
	}
}
