package solve_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

// result is all by which a run that passed is compared.
type result struct {
	fixed, files, lines int
	weakens             bool
	latency             time.Duration
	proof               bool
}

func (o result) of(r solve.Run) solve.Run {
	r.State, r.AgentTime = solve.RunPassed, o.latency
	r.Verdict = &solve.Verdict{Outcome: solve.Passed, Fixed: o.fixed}
	if o.weakens {
		r.Verdict.Weakens = []string{"a_test.go"}
	}
	r.Candidate = &solve.Candidate{Files: make([]solve.FileChange, o.files), Added: o.lines}
	if o.proof {
		r.Verdict.Proofs, r.Candidate.Files[0].Test = 1, true
	}
	return r
}

// imaginable are the results that a run can come to which has worked so long, where two
// tests fail on the base. What it has already is as it is.
func imaginable(r solve.Run, so time.Duration) (out []result) {
	files, lines, latest := []int{1, 2}, []int{0, 1, 2}, so+3
	if r.State == solve.RunJudging {
		files, lines = []int{len(r.Candidate.Files)}, []int{r.Candidate.Size()}
	}
	if r.State == solve.RunJudging || r.State == solve.RunHarvesting {
		so, latest = r.AgentTime, r.AgentTime
	}
	for _, n := range files {
		for _, l := range lines {
			for fixed := range 3 {
				for latency := so; latency <= latest; latency++ {
					for _, weakens := range []bool{false, true} {
						out = append(out, result{fixed, n, l, weakens, latency, false})
						if r.State != solve.RunJudging || r.Candidate.Files[0].Test {
							out = append(out, result{fixed, n, l, weakens, latency, true})
						}
					}
				}
			}
		}
	}
	return out
}

// TestNoRunIsStoppedThatCouldWin: a run is stopped if and only if no result that it can
// come to makes it the champion of what there is. What depends on the other runs, too, stops
// nothing here: their tests and agreement, the middle size, and latencies that lie near to each other.
func TestNoRunIsStoppedThatCouldWin(t *testing.T) {
	t.Parallel()
	stopped := 0
	rapid.Check(t, func(t *rapid.T) {
		models := []string{"a", "b", "c"}
		names := slices.DeleteFunc(solve.CriterionNames(), func(n string) bool {
			return n == "cross" || n == "agreement" || n == "typical" || n == "latency"
		})
		rule := solve.Rule{Models: models, Order: rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "order")}
		var runs []solve.Run
		for n := range rapid.IntRange(1, 4).Draw(t, "runs") {
			r := solve.Run{N: n + 1, Experiment: solve.Experiment{Model: rapid.SampledFrom(models).Draw(t, "model")}}
			if temp := rapid.SampledFrom([]float64{-1, 0.2, 0.6}).Draw(t, "temp"); temp >= 0 {
				r.Experiment.Temperature = &temp
			}
			r = result{
				rapid.IntRange(0, 2).Draw(t, "fixed"), rapid.IntRange(1, 2).Draw(t, "files"), rapid.IntRange(0, 2).Draw(t, "lines"),
				rapid.Bool().Draw(t, "weakens"), time.Duration(rapid.IntRange(0, 4).Draw(t, "latency")),
				rapid.Bool().Draw(t, "proof"),
			}.of(r)
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				r.State = solve.RunFailed
			case 1:
				r.Candidate.Refused = "no"
			}
			runs = append(runs, r)
		}
		i := rapid.IntRange(0, len(runs)-1).Draw(t, "which")
		r, so := &runs[i], time.Duration(rapid.IntRange(0, 4).Draw(t, "so"))
		r.State = rapid.SampledFrom([]solve.RunState{solve.RunQueued, solve.RunDispatched, solve.RunWorking, solve.RunHarvesting, solve.RunJudging}).Draw(t, "state")
		if r.State != solve.RunJudging {
			r.Candidate = nil
		}
		if r.State != solve.RunJudging && r.State != solve.RunHarvesting {
			r.AgentTime = 0
		}
		r.Verdict = nil
		refused := r.Candidate != nil && r.Candidate.Refused != ""

		s := solve.Solve{Base: solve.Base{Report: solve.Counts{Failed: 2}}, State: solve.StateRunning, Plan: solve.Plan{Stop: solve.StopWaves}}
		better := s.DominatedBy(*r, so, runs, rule)
		wins := false
		for _, o := range imaginable(*r, so) {
			future := slices.Clone(runs)
			future[i] = o.of(*r)
			wins = wins || solve.Reduce(future, rule).Champion == r.N
		}
		if refused {
			return // its result is known, and no candidate's
		}
		if (better == 0) != wins {
			t.Fatalf("run %d in state %s after %d: run %d is better, can win: %v", r.N, r.State, so, better, wins)
		}
		if why := s.Redundant(*r, so, runs, rule); (why == "") != wins {
			t.Fatalf("can win: %v, stopped: %q", wins, why)
		}
		if !wins {
			stopped++
		}
	})
	if stopped == 0 {
		t.Error("no run was ever stopped: the property says nothing")
	}
}

// TestRedundant plays the rule that knows everything of a run that works but its latency.
func TestRedundant(t *testing.T) {
	t.Parallel()
	passed := runOfWave(1, 1, solve.RunPassed)
	passed.Candidate.Files, passed.AgentTime = make([]solve.FileChange, 1), time.Second
	s := solve.Solve{State: solve.StateRunning, Base: solve.Base{Report: solve.Counts{Failed: 1}}, Plan: solve.Plan{Stop: solve.StopFirstGreen}}
	const proven, better = "not needed: run 1 is proven", "not needed: run 1 stays better, whatever this run achieves"
	redundant := func(s solve.Solve, state solve.RunState, so time.Duration) string {
		r := runOfWave(2, 1, state)
		r.Candidate, r.AgentTime = &solve.Candidate{Files: make([]solve.FileChange, 1)}, so
		return s.Redundant(r, so, []solve.Run{passed, r}, solve.Rule{Order: solve.OrderOf(solve.RuleSmallest)})
	}
	for _, c := range []struct {
		what   string
		change func(*solve.Solve)
		state  solve.RunState
		so     time.Duration
		want   string
	}{
		{"at work", nil, solve.RunWorking, 0, proven},
		{"judged, and faster", nil, solve.RunJudging, time.Millisecond, ""},
		{"judged, and slower", nil, solve.RunJudging, 5 * time.Second, better},
		{"ended", nil, solve.RunFailed, time.Minute, ""},
		{"waves, and faster", func(s *solve.Solve) { s.Plan.Stop = solve.StopWaves }, solve.RunWorking, time.Millisecond, ""},
		{"waves, and slower", func(s *solve.Solve) { s.Plan.Stop = solve.StopWaves }, solve.RunWorking, 5 * time.Second, better},
		{"all", func(s *solve.Solve) { s.Plan.Stop = solve.StopAll }, solve.RunWorking, time.Minute, ""},
		{"an old record", func(s *solve.Solve) { s.Plan.Stop = "" }, solve.RunWorking, time.Minute, ""},
		{"cancelled", func(s *solve.Solve) { s.CancelAt = time.Unix(1, 0) }, solve.RunWorking, time.Minute, ""},
	} {
		s := s
		if c.change != nil {
			c.change(&s)
		}
		if got := redundant(s, c.state, c.so); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestAgreementMayComeLate: by the built-in rule a run at work can still come to the most
// agreement, so no latency stops it.
func TestAgreementMayComeLate(t *testing.T) {
	t.Parallel()
	passed, late := runOfWave(1, 1, solve.RunPassed), runOfWave(2, 1, solve.RunWorking)
	s := solve.Solve{Base: solve.Base{Report: solve.Counts{Failed: 1}}}
	if n := s.DominatedBy(late, time.Hour, []solve.Run{passed, late}, solve.Rule{}); n != 0 {
		t.Errorf("run %d is better already", n)
	}
}
