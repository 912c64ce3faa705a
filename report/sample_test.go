package report_test

import (
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// sample is a solve of five runs that ended in different ways.
func sample(state solve.State) report.View {
	plan := solve.Plan{
		Experiments: []solve.Experiment{
			{Agent: "mini", Model: "small", Temperature: new(0.2), Strategy: "plain", Repeat: 1},
			{Agent: "mini", Model: "small", Temperature: new(0.6), Strategy: "plain", Repeat: 1},
			{Agent: "mini", Model: "fixed", Strategy: "test-first", MaxEdits: 10, Repeat: 1},
			{Agent: "mini", Model: "large", Temperature: new(0.2), Strategy: "plain", Repeat: 2},
			{Agent: "mini", Model: "large", Temperature: new(0.6), Strategy: "plain", Repeat: 1},
		},
		Notes: []string{"model fixed takes no temperature, so 2 of its experiments became 1"},
		Order: []string{"small", "large", "fixed"},
	}
	s := solve.Solve{
		V: 1, ID: "d1a2b3c4d5e6f7g8h9i0", Repo: solve.Repo{Owner: "octo", Name: "shop", DefaultBranch: "main"},
		Issue:   solve.Issue{Number: 12, Title: "Bug: total is wrong when a cart holds *two* coupons", Author: "octocat"},
		Trigger: solve.Trigger{Kind: solve.TriggerLabel, Actor: "octocat"},
		State:   state, Plan: plan, Branch: "ai/fix-12-d1a2", Started: time.Unix(100, 0),
		Base: solve.Base{
			Branch: "main", SHA: "0123456789abcdef0123", Test: solve.TestCommand{Command: "go test ./...", Format: "go"},
			Report: solve.Counts{Passed: 41, Failed: 1, Skipped: 2},
		},
	}
	usage := func(cost solve.Money) solve.Progress {
		return solve.Progress{Steps: 9, Edits: 3, Usage: solve.Usage{Calls: 9, Input: 21_000, Output: 1_900, Cost: cost}}
	}
	runs := make([]solve.Run, len(plan.Experiments))
	for i, x := range plan.Experiments {
		runs[i] = solve.Run{V: 1, Solve: s.ID, N: i + 1, Experiment: x, Attempt: 1, AgentTime: time.Duration(40+9*i) * time.Second}
	}
	passed := func() *solve.Verdict {
		return &solve.Verdict{
			Outcome: solve.Passed, Reason: "All tests pass.", Fixed: 1, Kept: 41, FixedTests: []string{"shop.TestTwoCoupons"},
		}
	}
	patch := func(sum string, files ...solve.FileChange) *solve.Candidate {
		c := &solve.Candidate{SHA256: sum, Files: files, Lines: []string{"+" + sum}}
		for _, f := range files {
			c.Added, c.Deleted = c.Added+f.Added, c.Deleted+f.Deleted
		}
		return c
	}
	small := solve.FileChange{Path: "cart.go", Op: "modify", Mode: "100644", Added: 3, Deleted: 1}
	runs[0].State, runs[0].Progress, runs[0].Verdict = solve.RunPassed, usage(12_300), passed()
	runs[0].Candidate = patch("aa", small, solve.FileChange{Path: "docs/old.md", OldPath: "old.md", Op: "rename"}, solve.FileChange{Path: "logo.png", Op: "add", Binary: true})
	runs[0].Candidate.Flags = []string{"binary files: logo.png"}
	runs[1].State, runs[1].Progress, runs[1].Verdict, runs[1].Candidate = solve.RunPassed, usage(10_100), passed(), patch("bb", small)
	runs[1].Summary = "The total subtracted each coupon from the full price, so two coupons gave too much (see #7, @octocat). " +
		"`Total` now applies one after the other."
	runs[2].State, runs[2].Progress, runs[2].Exit = solve.RunFailed, usage(8_000), "LimitsExceeded"
	runs[2].Verdict = &solve.Verdict{
		Outcome: solve.Failed, Reason: "2 tests that passed on the base fail.", Kept: 39, Broken: 2, Still: 1,
		BrokenTests: []string{"shop.TestEmpty", "shop.TestTotal"}, StillTests: []string{"shop.TestTwoCoupons"},
		Weakens: []string{"cart_test.go"},
	}
	runs[2].Candidate = patch("cc", solve.FileChange{Path: "cart_test.go", Op: "delete", Deleted: 60, Test: true})
	runs[3].State, runs[3].Progress, runs[3].Verdict, runs[3].Candidate = solve.RunPassed, usage(3_400_000), passed(), patch("bb", small)
	runs[4].State, runs[4].Reason, runs[4].AgentTime = solve.RunError, "The sandbox could not be opened.", 0

	v := report.View{Solve: s, Runs: runs}
	switch state {
	case solve.StateQueued:
		v.Solve.Plan, v.Runs, v.Solve.Base, v.Solve.Started = solve.Plan{}, nil, solve.Base{}, time.Time{}
	case solve.StateRunning:
		r := &v.Runs[3]
		r.State, r.Verdict, r.Candidate = solve.RunWorking, nil, nil
		v.Now, v.Solve.Plan.Limits.RunSteps = s.Started.Add(250*time.Second), 50
		r.AgentTime, r.Started, r.Progress.Last = 0, v.Now.Add(-67*time.Second), "$ go test ./... | tail -20"
		v.Runs[4].State, v.Runs[4].Reason = solve.RunQueued, ""
	case solve.StateSolved, solve.StatePublishing:
		d := solve.Reduce(v.Runs, solve.Rule{Models: plan.Order})
		v.Solve.Decision = &d
		if state == solve.StateSolved {
			v.Solve.Pull = &solve.Pull{Number: 34, URL: "https://example.org/pull/34"}
		}
	case solve.StateUnsolved:
		v.Runs = []solve.Run{v.Runs[2], v.Runs[4]}
		d := solve.Reduce(v.Runs, solve.Rule{Models: plan.Order})
		v.Solve.Decision, v.Solve.Reason = &d, "None of the 2 experiments passed the tests."
	case solve.StateCancelled:
		v.Solve.CancelBy = "octocat"
	case solve.StateFailed:
		v.Solve.Reason = "There is no branch nowhere, @octocat."
		v.Runs = nil
	}
	return v
}

// waves is a solve of three waves, of which the second brought a champion. One of its
// runs was stopped at work, and the third wave never began.
func waves(state solve.State) report.View {
	v := sample(solve.StateRunning)
	plan := &v.Solve.Plan
	plan.Stop, v.Solve.Wave = solve.StopWaves, 2
	plan.Notes = []string{"3 waves, of 1, 3 and 2 experiments: the next one starts only if no run of the last passed (stop=waves)"}
	plan.Experiments = append(plan.Experiments[2:3:3], append(plan.Experiments[:2:2], plan.Experiments[3:]...)...)
	plan.Experiments = append(plan.Experiments, solve.Experiment{Agent: "mini", Model: "huge", Strategy: "plain", Repeat: 1})
	plan.Experiments[3].Repeat = 1
	v.Runs = []solve.Run{v.Runs[2], v.Runs[0], v.Runs[1], v.Runs[3], v.Runs[4], v.Runs[4]}
	for i, wave := range []int{1, 2, 2, 2, 3, 3} {
		plan.Experiments[i].Wave = wave
		v.Runs[i].N, v.Runs[i].Experiment = i+1, plan.Experiments[i]
	}
	for i := 4; i < 6; i++ {
		v.Runs[i].Attempt, v.Runs[i].State, v.Runs[i].Reason = 0, solve.RunQueued, ""
	}
	v.Runs[3].Progress.Usage.Cost = 4_000
	v.Solve.State = state
	if state == solve.StateRunning {
		return v
	}
	for i := 3; i < 6; i++ {
		r := &v.Runs[i]
		r.State, r.NotNeeded, r.Reason = solve.RunCancelled, true, "not needed: run 2 is proven after wave 2"
	}
	v.Runs[3].AgentTime = 67 * time.Second
	v.Runs[3].Reason = "not needed: run 3 stays better, whatever this run achieves; what it had changed is kept"
	d := solve.Reduce(v.Runs, solve.Rule{Models: plan.Order})
	v.Solve.Decision, v.Solve.Pull = &d, &solve.Pull{Number: 34, URL: "https://example.org/pull/34"}
	return v
}
