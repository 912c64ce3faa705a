package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/xid"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// followUp starts a solve that continues an earlier one: retry, pick, revise. It stores the
// new solve under the command's key before it answers, so that a crash between the two starts
// nothing twice.
func (c *Commands) followUp(ctx context.Context, a solve.Command, s solve.Solve) (answer, error) {
	named := s.ID
	s, err := c.newest(ctx, s)
	if err != nil {
		return answer{}, err
	}
	if s.Trigger.Key == followKey(a) {
		return answer{}, nil // created before a crash
	}
	if !s.State.Final() {
		return c.running(ctx, a, s)
	}
	atHead := a.SHA != "" && s.Pull != nil && a.SHA == s.Pull.Commit // of the newest one's champion
	if a.Button && s.ID != named && !atHead {                        // pressed before, or its runs have other numbers
		return answer{owner: "earlier-" + string(named), reply: "That button is of an earlier solve. " +
			"Press the button of the newest one, or write `" + string(a.Kind) + "` as a command."}, nil
	}
	child, err := c.followUpSolve(ctx, a, s)
	var no fault.Refusal
	if errors.As(err, &no) {
		return answer{reply: no.Text, reaction: "confused"}, nil
	}
	if err != nil {
		return answer{}, err
	}
	stored, _, err := c.store.Create(ctx, child)
	if err != nil {
		return answer{}, err
	}
	if stored.Trigger.Key != child.Trigger.Key { // somebody was faster
		return c.running(ctx, a, stored)
	}
	return answer{}, nil // the new solve reacts to the comment
}

// newest is the last solve of the same pull request, or of the issue if there is none. A check
// run and a branch name the solve that they were made for, which may be older.
func (c *Commands) newest(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	number := s.Issue.Number
	if s.Pull != nil {
		number = s.Pull.Number
	} else if t := s.Target(); t != nil {
		number = t.Number
	}
	return c.store.LatestSolve(ctx, s.Repo.ID, number)
}

func followKey(a solve.Command) string { return "ask:" + a.ID }

// followUpSolve is the solve that a command asks for, or a refusal with the reason.
func (c *Commands) followUpSolve(ctx context.Context, a solve.Command, s solve.Solve) (solve.Solve, error) {
	s, runs, err := c.solveWithRuns(ctx, s)
	if err != nil {
		return solve.Solve{}, err
	}
	now := time.Now()
	child := solve.Solve{
		ID: solve.ID(xid.New().String()), Repo: s.Repo, Issue: s.Issue, Request: s.Request,
		State: solve.StateQueued, Created: now,
		Trigger: solve.Trigger{
			Kind: solve.TriggerCommand, Key: followKey(a), Actor: a.Actor, CommentID: a.CommentID, Delivery: a.ID, At: a.At,
		},
	}
	switch {
	case a.Button:
		child.Trigger.Kind = solve.TriggerButton
	case a.Review:
		child.Trigger.Kind = solve.TriggerReview
	}
	if a.Issue != s.Issue.Number {
		child.Trigger.Thread = a.Issue
	}
	f := solve.Follow{Of: s.ID, Kind: solve.FollowKind(a.Kind), Text: a.Text}
	if s.Follows != nil && a.Kind != solve.CommandRevise {
		f.Text = s.Follows.Text // it is the revision that is tried again
	}
	switch a.Kind {
	case solve.CommandRetry:
		if err := retryable(s, solve.Candidates(runs)); err != nil {
			return child, err
		}
		if len(runs) == 0 { // it failed before there was anything to carry over
			return child, nil
		}
	case solve.CommandPick:
		if f.N, err = pickable(s, solve.Candidates(runs), a.N); err != nil {
			return child, err
		}
	}
	if f.Pull, err = c.targetPull(ctx, a, s); err != nil {
		return child, err
	}
	child.Follows = &f
	if f.Pull != nil {
		child.Branch = s.Branch
	}
	return child, nil
}

// solveWithRuns is the solve whose runs a command is about. It skips a follow-up that failed
// before it had runs of its own.
func (c *Commands) solveWithRuns(ctx context.Context, s solve.Solve) (solve.Solve, []solve.Run, error) {
	for {
		runs, err := c.store.Runs(ctx, s.ID)
		if err != nil || len(runs) > 0 || s.Follows == nil {
			return s, runs, err
		}
		of, err := c.store.Solve(ctx, s.Follows.Of)
		if errors.Is(err, solve.ErrNotFound) {
			return s, runs, nil
		}
		if err != nil {
			return s, nil, err
		}
		s = of
	}
}

func retryable(s solve.Solve, runs []solve.Run) error {
	if len(runs) == 0 {
		return nil
	}
	for _, r := range runs {
		if r.State != solve.RunPassed {
			return nil
		}
	}
	return fault.Refusef("All %d experiments of the last solve passed: there is none to run again.", len(runs))
}

// pickable is the number of the run that is to be the champion; 0 asks for the runner-up.
func pickable(s solve.Solve, runs []solve.Run, n int) (int, error) {
	var can []string
	for _, r := range runs {
		if solve.Eligible(r) && (s.Decision == nil || r.N != s.Decision.Champion) {
			can = append(can, fmt.Sprintf("run %d", r.N))
		}
	}
	if n == 0 && s.Decision != nil {
		n = s.Decision.RunnerUp()
	}
	others := "No other run can be picked"
	if len(can) > 0 {
		others = "These can: " + strings.Join(can, ", ")
	}
	switch {
	case s.Decision != nil && n != 0 && n == s.Decision.Champion:
		return 0, fault.Refusef("Run %d is the champion already. %s.", n, others)
	case n < 1 || n > len(runs):
		return 0, fault.Refusef("The last solve has no run %d to pick. %s.", n, others)
	case !solve.Eligible(runs[n-1]):
		return 0, fault.Refusef("Run %d cannot be picked: %s. %s.", n, runs[n-1].Words(), others)
	}
	return n, nil
}

// targetPull is the pull request to continue, as it is now; nil if there is none yet.
func (c *Commands) targetPull(ctx context.Context, a solve.Command, s solve.Solve) (*solve.Pull, error) {
	known := s.Pull
	if known == nil {
		known = s.Target()
	}
	if known == nil {
		if a.Kind == solve.CommandRevise {
			return nil, fault.Refuse("There is no pull request of mine to revise.")
		}
		return nil, nil
	}
	now, err := c.hub.Pull(ctx, s.Repo, known.Number)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return nil, fault.Refusef("Pull request #%d is not there any more.", known.Number)
	case err != nil:
		return nil, err
	case now.Merged:
		return nil, fault.Refusef("Pull request #%d is merged: what is left to do is an issue of its own.", known.Number)
	case !now.Open:
		return nil, fault.Refusef("Pull request #%d is closed: reopen it, and ask again.", known.Number)
	case now.Fork || now.Branch != s.Branch:
		return nil, fault.Refusef("Pull request #%d does not come from my branch.", known.Number)
	case a.Kind != solve.CommandRevise && now.SHA != known.Commit:
		return nil, fault.Refusef("The branch of pull request #%d holds commits of others, and I will not overwrite them. "+
			"`revise` goes on from them.", known.Number)
	}
	return &solve.Pull{Number: known.Number, URL: known.URL, Commit: now.SHA}, nil
}
