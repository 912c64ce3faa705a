package solve_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// green is a run of a model that may win, with such a patch.
func green(n int, model, sum string, lines ...string) solve.Run {
	return solve.Run{
		N: n, State: solve.RunPassed, Experiment: solve.Experiment{Model: model},
		Verdict: &solve.Verdict{Outcome: solve.Passed}, Candidate: &solve.Candidate{SHA256: sum, Lines: lines},
	}
}

func ended(n int, model string, state solve.RunState) solve.Run {
	return solve.Run{N: n, State: state, Experiment: solve.Experiment{Model: model}, Verdict: &solve.Verdict{Outcome: solve.Failed}}
}

func fixing(r solve.Run, tests int) solve.Run {
	r.Verdict.Fixed = tests
	return r
}

// fixes is a run that fixes these tests and so many that are not named.
func fixes(r solve.Run, more int, tests ...string) solve.Run {
	r.Verdict.FixedTests = tests
	return fixing(r, len(tests)+more)
}

func TestTrials(t *testing.T) {
	t.Parallel()
	tampers, refused, carried := ended(2, "b", solve.RunFailed), green(2, "b", "x"), green(1, "a", "x")
	tampers.Verdict.Tampering = "it steers the runner"
	refused.Candidate.Refused = "it changes a workflow"
	carried.From = &solve.Origin{Solve: "s0", N: 1}
	reproducer := ended(2, "b", solve.RunEmpty)
	reproducer.Experiment.Purpose = solve.PurposeReproduce
	cross := func(failed ...string) []solve.CrossResult {
		return []solve.CrossResult{{Author: 1, Run: 2, Passed: []string{"t1"}, Failed: failed}}
	}
	type trial struct {
		right, weight float64
	}
	half, wrong, right := trial{0.5, 0.25}, trial{0, 1}, trial{1, 1}
	for name, c := range map[string]struct {
		runs  []solve.Run
		cross []solve.CrossResult
		pull  solve.PullOutcome
		tests map[int]bool
		want  []trial
	}{
		"open":                       {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, want: []trial{half, half}},
		"failed, empty":              {runs: []solve.Run{ended(1, "a", solve.RunFailed), ended(2, "b", solve.RunEmpty)}, want: []trial{wrong, wrong}},
		"cheats":                     {runs: []solve.Run{green(1, "a", "x"), tampers}, want: []trial{half, {0, 2}}},
		"refused":                    {runs: []solve.Run{green(1, "a", "y"), refused}, want: []trial{half, wrong}},
		"ended by others":            {runs: []solve.Run{green(1, "a", "x"), ended(2, "b", solve.RunCancelled), ended(3, "b", solve.RunLost), ended(4, "b", solve.RunTimedOut), ended(5, "b", solve.RunNoVerdict)}, want: []trial{half}},
		"merged":                     {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, pull: solve.PullMerged, want: []trial{right, half}},
		"closed":                     {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, pull: solve.PullClosed, want: []trial{wrong, half}},
		"merged, the same patch":     {runs: []solve.Run{green(1, "a", "x"), green(2, "a", "x")}, pull: solve.PullMerged, want: []trial{right, right}},
		"closed, the same patch":     {runs: []solve.Run{green(1, "a", "x"), green(2, "a", "x")}, pull: solve.PullClosed, want: []trial{wrong, wrong}},
		"merged, much the same":      {runs: []solve.Run{green(1, "a", "x", "+1"), green(2, "b", "y", "+1", "+2")}, pull: solve.PullMerged, want: []trial{right, right}},
		"merged, the fix is not in":  {runs: []solve.Run{fixing(green(1, "a", "x", "+1"), 2), fixing(green(2, "b", "y", "+1"), 1)}, pull: solve.PullMerged, want: []trial{right, wrong}},
		"merged, the fix is in":      {runs: []solve.Run{fixing(green(1, "a", "x"), 1), fixing(green(2, "b", "y"), 1)}, pull: solve.PullMerged, want: []trial{right, right}},
		"merged, another fix":        {runs: []solve.Run{fixes(green(1, "a", "x"), 0, "a"), fixes(green(2, "b", "y"), 0, "b")}, pull: solve.PullMerged, want: []trial{right, wrong}},
		"merged, more is fixed":      {runs: []solve.Run{fixes(green(1, "a", "x"), 0, "b"), fixes(green(2, "b", "y"), 0, "a", "b")}, pull: solve.PullMerged, want: []trial{right, right}},
		"merged, not all named":      {runs: []solve.Run{fixes(green(1, "a", "x"), 0, "c"), fixes(green(2, "b", "y"), 1, "a", "b")}, pull: solve.PullMerged, want: []trial{right, right}},
		"merged, it would be named":  {runs: []solve.Run{fixes(green(1, "a", "x"), 1, "a2"), fixes(green(2, "b", "y"), 1, "a1", "a3")}, pull: solve.PullMerged, want: []trial{right, wrong}},
		"hindsight":                  {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y"), green(3, "b", "z")}, tests: map[int]bool{1: true, 2: false}, want: []trial{right, wrong, half}},
		"hindsight and closed":       {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, pull: solve.PullClosed, tests: map[int]bool{1: true}, want: []trial{right, half}},
		"hindsight and merged":       {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, pull: solve.PullMerged, tests: map[int]bool{1: false}, want: []trial{right, half}},
		"merged, passes its tests":   {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, cross: cross(), pull: solve.PullMerged, want: []trial{right, right}},
		"merged, fails its tests":    {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, cross: cross("t2"), pull: solve.PullMerged, want: []trial{right, wrong}},
		"closed, passes its tests":   {runs: []solve.Run{green(1, "a", "x"), green(2, "b", "y")}, cross: cross(), pull: solve.PullClosed, want: []trial{wrong, half}},
		"carried over":               {runs: []solve.Run{carried, ended(2, "b", solve.RunFailed)}, want: []trial{wrong}},
		"a reproducer":               {runs: []solve.Run{green(1, "a", "x"), reproducer}, want: []trial{half}},
		"carried over and merged":    {runs: []solve.Run{carried, green(2, "b", "x")}, pull: solve.PullMerged, want: []trial{right, right}},
		"a broken one is not merged": {runs: []solve.Run{green(1, "a", "x", "+1"), ended(2, "b", solve.RunFailed)}, pull: solve.PullMerged, want: []trial{right, wrong}},
	} {
		var got []trial
		for _, one := range solve.Trials(solve.Solve{Decision: &solve.Decision{Champion: 1, Cross: c.cross}}, c.runs, solve.Fate{Pull: c.pull, Tests: c.tests}) {
			got = append(got, trial{one.Right, one.Weight})
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(trial{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPullEndedOfAnOldSolve: a solve that ended before track records were kept counts from its pull request's end on.
func TestPullEndedOfAnOldSolve(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &records{runs: []solve.Run{green(1, "a", "x"), ended(2, "b", solve.RunFailed)}}
	r.s = solve.Solve{ID: "s", Repo: solve.Repo{ID: 7}, State: solve.StateSolved, Decision: &solve.Decision{Champion: 1}}
	for i, c := range []struct {
		outcome    solve.PullOutcome
		won, known int
		changes    bool
	}{
		{solve.PullOpen, 0, 0, false}, {solve.PullMerged, 1, 2, true}, {solve.PullMerged, 1, 2, false},
		{solve.PullClosed, 0, 2, true}, {solve.PullOpen, 0, 1, true},
	} {
		learned, err := solve.Told(r, "s", solve.Fate{Pull: c.outcome}, at)
		if err != nil || (learned != nil) != c.changes {
			t.Fatalf("step %d: %+v, %v", i, learned, err)
		}
		if learned != nil {
			r.fate, r.track = learned.Fate, learned.Record
		}
		if r.fate.Pull == solve.PullMerged {
			r.track.Repo.Name = "renamed" // by a solve that ended meanwhile
		} else if i > 2 && r.track.Repo.Name != "renamed" {
			t.Errorf("step %d: the record is of %q", i, r.track.Repo.Name)
		}
		won, known := 0, 0
		for _, h := range r.track.Arms {
			won, known = won+h.Won, known+h.Known
		}
		if won != c.won || known != c.known || r.track.Solves > 1 {
			t.Errorf("step %d: %d of %d after %d solves", i, won, known, r.track.Solves)
		}
	}
}

// TestInHindsight: what the tests of a change say of candidates; of some nobody knows.
func TestInHindsight(t *testing.T) {
	t.Parallel()
	runs := []solve.Run{
		green(1, "a", "x"), green(2, "b", "y"), fixes(green(3, "b", "z"), 0, "f"), ended(4, "a", solve.RunFailed), green(5, "b", "x"), green(6, "b", "w"),
	}
	if got := solve.HindsightPairs(runs, 3); len(got) != 3 || got[2] != (solve.CrossPair{Run: 3}) || len(solve.HindsightPairs(runs, 9)) != 4 {
		t.Errorf("pairs: %v", got)
	}
	proof := solve.Verdict{Outcome: solve.Passed, ProofTests: []string{"p", "q"}}
	fixed := solve.Verdict{Outcome: solve.Passed, Fixed: 1, FixedTests: []string{"f"}}
	failed := proof
	failed.Outcome = solve.Failed
	results := []solve.CrossResult{
		{Run: 1, Passed: []string{"p", "q"}}, {Run: 2, Passed: []string{"p"}, Failed: []string{"q"}}, {Run: 3, Passed: []string{"p"}},
	}
	for name, c := range map[string]struct {
		change  solve.Verdict
		results []solve.CrossResult
		want    map[int]bool
	}{
		"proofs":  {proof, results, map[int]bool{1: true, 2: false, 5: true}},
		"fixes":   {fixed, nil, map[int]bool{1: false, 2: false, 3: true, 5: false, 6: false}},
		"nothing": {solve.Verdict{Outcome: solve.Passed}, nil, map[int]bool{}},
		"broken":  {failed, results, map[int]bool{}},
	} {
		if diff := cmp.Diff(c.want, solve.InHindsight(runs, c.change, c.results)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
