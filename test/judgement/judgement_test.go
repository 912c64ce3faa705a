package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func scored(t *testing.T, name string, scores []score) score {
	t.Helper()
	i := slices.IndexFunc(scores, func(s score) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("%s is not scored", name)
	}
	return scores[i]
}

// TestSelection: the known figures come out again, and the default rule reaches its targets.
func TestSelection(t *testing.T) {
	t.Parallel()
	issues, err := loadSelection("")
	if err != nil {
		t.Fatal(err)
	}
	scores := evaluate(issues)
	for name, want := range map[string]float64{solve.RuleSmallest: 40.3, "chance": 49.7, "oracle": 69.2} {
		if got := scored(t, name, scores).precision; math.Abs(got-want) > 0.05 {
			t.Errorf("%s is right in %.2f %%, want %.1f", name, got, want)
		}
	}
	for name, least := range map[string]float64{solve.RuleEvidence: 54, withRecord: 56} {
		if got := scored(t, name, scores).precision; got < least {
			t.Errorf("%s is right in %.2f %%, want %.0f or more", name, got, least)
		}
	}
	if s := scored(t, solve.RuleEvidence, scores); s.low >= s.precision || s.high <= s.precision {
		t.Errorf("95 %%: %.1f to %.1f around %.1f", s.low, s.high, s.precision)
	}
	for _, grade := range []solve.Grade{solve.Supported, solve.Unproven} {
		g := scored(t, solve.RuleEvidence, scores).byGrade[grade]
		if got := int(math.Round(100 * g.right / g.all)); got != grade.Precision() {
			t.Errorf("%s champions are right in %d %%, and people are told %d", grade, got, grade.Precision())
		}
	}
}

// TestRunsHoldNoTruth: what the hidden tests say changes nothing of what a rule sees.
func TestRunsHoldNoTruth(t *testing.T) {
	t.Parallel()
	issues, err := loadSelection("")
	if err != nil {
		t.Fatal(err)
	}
	for _, is := range issues {
		before := solve.Reduce(is.runs(), solve.Rule{})
		for i := range is.Candidates {
			is.Candidates[i].Resolved, is.Candidates[i].Fixed = !is.Candidates[i].Resolved, !is.Candidates[i].Fixed
		}
		if after := solve.Reduce(is.runs(), solve.Rule{}); !slices.Equal(before.Ranking, after.Ranking) {
			t.Fatalf("%s: %v, with the opposite truth %v", is.Issue, before.Ranking, after.Ranking)
		}
	}
}

// TestTiesAreShared: where nothing but the run number decides, no place in the file is an advantage.
func TestTiesAreShared(t *testing.T) {
	t.Parallel()
	same := []fileChange{{Path: "a.go", Added: 1, AddedLines: []string{"00000001"}}}
	is := issue{Repository: "r", Candidates: []entry{
		{System: "a", Kept: true, Resolved: true, Files: same}, {System: "b", Kept: true, Files: same}, {System: "c", Files: same},
	}}
	for _, c := range contenders() {
		if got := c.choose(is, []issue{is}).right(); c.learn == nil && got != 0.5 {
			t.Errorf("%s is right by %v, want 0.5", c.name, got)
		}
	}
	if is.chance() != 0.5 || is.oracle() != 1 {
		t.Errorf("chance %v, oracle %v", is.chance(), is.oracle())
	}
}

// TestLearnLeavesTheRepositoryOut: no candidate of a repository teaches anything about it.
func TestLearnLeavesTheRepositoryOut(t *testing.T) {
	t.Parallel()
	all := []issue{
		{Repository: "r", Candidates: []entry{{System: "a", Kept: true, Resolved: true}}},
		{Repository: "s", Candidates: []entry{
			{System: "a", Kept: true}, {System: "b", Kept: true, Resolved: true}, {System: "b", Resolved: true},
		}},
	}
	for model, want := range map[string]int{"a": 33, "b": 67, "unknown": 50} {
		if got := solve.RateOf(solve.Arm{Model: model}, all[0].repo(), learn(all, all[0])).Percent(); got != want {
			t.Errorf("%s is right %d times of 100, want %d", model, got, want)
		}
	}
}

// TestLearnMergedSeesTheChampionOnly: what nobody merged or closed stays unknown, and an issue teaches nothing about itself.
func TestLearnMergedSeesTheChampionOnly(t *testing.T) {
	t.Parallel()
	big := []fileChange{{Path: "a", Added: 9}, {Path: "b", Added: 9}}
	all := []issue{
		{Issue: "1", Repository: "r", Candidates: []entry{
			{System: "a", Kept: true, Resolved: true, Files: []fileChange{{Path: "a", Added: 9}}},
			{System: "b", Kept: true, Resolved: true, Files: big},
		}},
		{Issue: "2", Repository: "r", Candidates: []entry{{System: "b", Kept: true}}},
	}
	if got := learnMerged(all, all[0]); len(got) != 0 {
		t.Errorf("issue 1 knows %+v", got)
	}
	got := learnMerged(all, all[1])
	a, b := solve.RateOf(solve.Arm{Model: "a"}, all[1].repo(), got), solve.RateOf(solve.Arm{Model: "b"}, all[1].repo(), got)
	if a.Known+b.Known != 1 || a.Won+b.Won != 1 {
		t.Errorf("issue 2 knows %+v and %+v", a, b)
	}
}

func TestReadSelectionNamesTheIssue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"issue":"x","candidates":[]}`: "issue 1: x has no candidates", `{"nonsense":1}`: "nonsense", "": "issue 1",
	} {
		if _, err := readSelection([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
