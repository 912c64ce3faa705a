package solver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// work carries a claimed solve as far as it goes without waiting for runs. A step
// that failed for a reason that may pass is done again later, from its start.
func (e *Engine) work(ctx context.Context, s solve.Solve, place *seat) {
	log := zerolog.Ctx(ctx)
	log.Info().Str(logkey.State, string(s.State)).Msg("solve claimed")
	var failed tries
	for !s.State.Final() && s.Lease.Node == e.Node {
		next, err := e.step(ctx, s)
		switch {
		case errors.Is(err, solve.ErrLeaseLost):
			log.Warn().Msg("solve taken over by another node")
			return
		case fault.Stopping(ctx):
			return
		case err != nil:
			if wait, again := failed.after(ctx, s, err, e.cfg.MaxAttempts); again {
				place.hold(ctx, wait)
				continue
			}
			next, err = e.giveUp(ctx, s, failed.cause(err))
			if err != nil {
				log.Error().Err(err).Msg("solve not ended")
				return
			}
		}
		s = next
	}
	if s.State.Final() {
		e.budgets.Drop(s.ID)
		log.Info().Str(logkey.State, string(s.State)).Msg("solve ended")
	}
}

// step does what the solve's state asks for and returns it as stored after.
func (e *Engine) step(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	switch s.State { // these two see a cancel themselves
	case solve.StateRunning:
		return e.wind(ctx, s)
	case solve.StatePublishing:
		return e.publish(ctx, s)
	}
	if !s.CancelAt.IsZero() || context.Cause(ctx) != nil {
		return s, context.Canceled
	}
	switch s.State {
	case solve.StateQueued:
		return e.plan(ctx, s)
	case solve.StatePreparing:
		return e.prepare(ctx, s)
	default:
		return e.reduce(ctx, s)
	}
}

// giveUp ends a solve that was cancelled, ran out of time, or cannot be done.
func (e *Engine) giveUp(ctx context.Context, s solve.Solve, cause error) (solve.Solve, error) {
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if now, err := e.Store.Solve(read, s.ID); err == nil {
		s.CancelAt, s.CancelBy, s.CancelWhy = now.CancelAt, now.CancelBy, now.CancelWhy
	}
	c := solve.Change{Solve: s.ID, Token: s.Lease.Token}
	var no fault.Refusal
	switch {
	case !s.CancelAt.IsZero():
		c.Event, c.Reason = solve.Cancelled{}, "Cancelled by "+s.CancelBy+"."
		if s.CancelWhy != "" {
			c.Reason = s.CancelWhy
		}
	case !s.Deadline.IsZero() && !time.Now().Before(s.Deadline) && !errors.As(cause, &no):
		c.Event, c.Reason = solve.Expired{}, fmt.Sprintf("The time budget of %s ended before a champion was found%s.", s.Deadline.Sub(s.Started), hindrance(cause))
	case errors.As(cause, &no):
		c.Event, c.Reason = solve.Aborted{Refused: true, Denied: no.Denied}, no.Text
	default:
		zerolog.Ctx(ctx).Error().Err(cause).Msg("solve failed")
		c.Event, c.Reason = solve.Aborted{}, "yudai could not go on: "+fault.Public(cause)
	}
	if s.State == solve.StatePublishing && solve.NameOf(c.Event) == solve.EventExpired {
		c.Event, c.Reason = solve.Aborted{}, "yudai could not go on: "+fault.Public(cause)
	}
	s, _, err := e.apply(ctx, c)
	if err == nil {
		sandboxes.DeleteBases(ctx, e.Drivers, s)
	}
	return s, err
}

// hindrance names what the world outside kept a solve waiting with until its time was over.
func hindrance(cause error) string {
	var world fault.Outside
	if !errors.As(cause, &world) {
		return ""
	}
	return ": " + fault.Public(cause)
}

// plan checks rights and the request, fixes matrix and base commit, and claims the solve.
func (e *Engine) plan(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	s, err := e.greet(ctx, s)
	if err != nil {
		return s, err
	}
	if err := e.solvable(ctx, s); err != nil {
		return s, err
	}
	plan, base, err := e.draft(ctx, s)
	if err != nil {
		return s, err
	}
	name := s.Branch
	if s.Target() == nil {
		if name, err = solve.BranchName(e.cfg.Branch, s); err != nil {
			return s, err
		}
	}
	s.Plan, s.Base, s.Branch = plan, base, name
	return e.begin(ctx, s)
}

// begin claims a solve as it was planned, if the day has room for it.
func (e *Engine) begin(ctx context.Context, planned solve.Solve) (solve.Solve, error) {
	unlock, err := e.daily.Lock(ctx)
	if err != nil {
		return planned, err
	}
	defer unlock()
	if err := e.daily.Check(ctx, planned, &planned.Plan); err != nil {
		return planned, err
	}
	s, _, err := e.apply(ctx, solve.Change{
		Solve: planned.ID, Token: planned.Lease.Token,
		Event: solve.Claimed{Plan: planned.Plan, Base: planned.Base, Branch: planned.Branch},
	})
	return s, err
}

// draft is the matrix and the base commit: the earlier solve's where it goes on with
// its runs, else those of the request.
func (e *Engine) draft(ctx context.Context, s solve.Solve) (solve.Plan, solve.Base, error) {
	if s.Carries() {
		return e.goOn(ctx, s)
	}
	base, err := e.base(ctx, s)
	if err != nil {
		return solve.Plan{}, base, err
	}
	rules, err := e.rules(ctx, s, base)
	if err != nil {
		return solve.Plan{}, base, err
	}
	plan, err := e.matrix(s, rules)
	if err == nil && s.Revises() {
		err = e.keepRevised(ctx, &plan, s)
	}
	return plan, base, err
}

// base is the branch to start from and its commit.
func (e *Engine) base(ctx context.Context, s solve.Solve) (solve.Base, error) {
	if s.Revises() {
		return e.revised(ctx, s)
	}
	branch := s.Request.Base
	if branch == "" {
		branch = s.Repo.DefaultBranch
	}
	sha, err := e.Hub.Branch(ctx, s.Repo, branch)
	switch {
	case errors.Is(err, solve.ErrNoCommit):
		return solve.Base{}, fault.Refusef("The repository %s is empty: it has no commit to start from. Push one, and ask again.", s.Repo)
	case errors.Is(err, solve.ErrNotFound):
		return solve.Base{}, fault.Refuse(noBranch(s, branch))
	case err != nil:
		return solve.Base{}, fault.Outside{Err: err}
	}
	return solve.Base{Branch: branch, SHA: sha}, nil
}

// noBranch says that a base is no branch, and what it could have been meant as.
func noBranch(s solve.Solve, branch string) string {
	text := fmt.Sprintf("The base branch %q does not exist in %s. Name an existing one with base=BRANCH", branch, s.Repo)
	if s.Request.Base == "" {
		text = fmt.Sprintf("The default branch %q of %s does not exist any more. Name an existing one with base=BRANCH", branch, s.Repo)
	}
	return text + "; tags and commits are no branches."
}

// solvable looks the issue up, live.
func (e *Engine) solvable(ctx context.Context, s solve.Solve) error {
	issue, err := e.Hub.Issue(ctx, s.Repo, s.Issue.Number)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return fault.Refusef("Issue #%d is not there any more: it was deleted, or moved to another repository.", s.Issue.Number)
	case err != nil:
		return fault.Outside{Err: err}
	case !issue.Open || issue.Pull:
		return fault.Refusef("Issue #%d is not open (or is a pull request), so there is nothing to solve.", s.Issue.Number)
	}
	return nil
}

// matrix expands the request under the rules of its repository.
func (e *Engine) matrix(s solve.Solve, rules repoconfig.Rules) (solve.Plan, error) {
	req, used, err := profiled(s.Request, rules)
	if err != nil {
		return solve.Plan{}, err
	}
	defaults := e.cfg.Matrix(rules, e.Models.Names(), slices.Collect(maps.Keys(e.Agents)))
	plan, err := solve.Expand(req, defaults, e.Models.Temperature)
	if err != nil {
		return plan, fault.Refuse(err.Error())
	}
	if plan.Sandbox, err = e.chosen(req, rules); err != nil && !s.Revises() {
		return plan, err
	}
	plan.Settings = &rules.Settings
	if file := rules.Settings.File; file != "" {
		plan.Notes = append(plan.Notes, "the settings of "+file+" are used")
	}
	for _, note := range []string{used, s.Issue.Note()} {
		if note != "" {
			plan.Notes = append(plan.Notes, note)
		}
	}
	if err := e.possibleAgents(plan); err != nil {
		return plan, err
	}
	seen := map[string]bool{}
	for _, x := range plan.Experiments {
		if seen[x.Model] {
			continue
		}
		seen[x.Model] = true
		if err := e.Models.Ready(x.Model); err != nil {
			return plan, fault.Refuse(err.Error())
		}
		if money := plan.Limits.RunMoney > 0 || plan.Limits.SolveMoney > 0; money && !e.Models.Metered(x.Model) {
			plan.Notes = append(plan.Notes, fmt.Sprintf("model %s has no price in the configuration: money limits do not stop it", x.Model))
		}
	}
	return plan, nil
}
