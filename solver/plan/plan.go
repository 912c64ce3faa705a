// Package plan decides what a solve does before anything is paid: whether the actor may
// ask, whether the issue can be solved, and which experiments run on which commit.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/rights"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Store is what planning needs of the store.
type Store interface {
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
	// TrackRecords are those of all repositories.
	TrackRecords(ctx context.Context) ([]solve.TrackRecord, error)
}

// Hub is what planning reads from GitHub.
type Hub interface {
	// Issue is an issue as it is now; solve.ErrNotFound if it is gone, also to another repository.
	Issue(ctx context.Context, repo solve.Repo, number int) (solve.IssueNow, error)
	// Branch is the commit a branch points to; solve.ErrNotFound if there is none.
	Branch(ctx context.Context, repo solve.Repo, name string) (sha string, err error)
	// Config is the repository's own settings at a commit, else its owner's, with a name
	// for people; solve.ErrNotFound if there are none, solve.ErrTooLarge if they are not read.
	Config(ctx context.Context, repo solve.Repo, sha string) (name string, data []byte, err error)
}

// Models are what planning asks about models.
type Models interface {
	Ready(name string) error
	// Answers makes a short call of a model, unless it answered lately. An error may have a method Wrong, which says that no other
	// call is answered, either.
	Answers(ctx context.Context, name string) error
	Temperature(name string) solve.TemperatureRule
	// Metered says whether the model's price is known: money limits cannot stop one without.
	Metered(name string) bool
	// UsualCost is what a call costs, to compare models by.
	UsualCost(name string) solve.Money
	// APIs are those by which the model can be called through the gateway.
	APIs(name string) []string
	// Vendor tells models of one maker from those of another.
	Vendor(name string) string
}

// Gateway is what planning asks about the gateway of agents.
type Gateway interface{ PublicHost() string }

// Rules are what the configuration says about plans.
type Rules struct {
	// Operator is what repositories' own files may say.
	Operator func() repoconfig.Operator
	// Defaults fill a request, under the rules of its repository.
	Defaults func(repoconfig.Rules) solve.Defaults
	// ReadRepository says whether repositories' own files are read.
	ReadRepository bool
	// Branch is the template of the solve's branch.
	Branch string
	// Records says whether track records are used.
	Records bool
}

// Planner makes plans.
type Planner struct {
	Store   Store
	Hub     Hub
	Rights  *rights.Rights
	Models  Models
	Gateway Gateway
	Agents  map[string]agent.Agent
	Drivers sandboxes.Drivers
	Rules   Rules
}

// Plan returns the solve with its experiments, its base commit and its branch.
func (p *Planner) Plan(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	err := p.solvable(ctx, s)
	if err != nil {
		return s, err
	}
	if s.Plan, s.Base, err = p.draft(ctx, s); err != nil {
		return s, err
	}
	if s.Target() == nil {
		s.Branch, err = solve.BranchName(p.Rules.Branch, s)
	}
	return s, err
}

// draft is the matrix and the base commit: the earlier solve's where it goes on with
// its runs, else those of the request.
func (p *Planner) draft(ctx context.Context, s solve.Solve) (solve.Plan, solve.Base, error) {
	if s.Carries() {
		return p.earlierPlan(ctx, s)
	}
	base, err := p.base(ctx, s)
	if err != nil {
		return solve.Plan{}, base, err
	}
	rules, err := p.rules(ctx, s, base)
	if err != nil {
		return solve.Plan{}, base, err
	}
	records, err := p.records(ctx)
	if err != nil {
		return solve.Plan{}, base, err
	}
	plan, err := p.answering(ctx, s, rules, records)
	if err == nil && s.Revises() {
		err = p.keepRevised(ctx, &plan, s)
	}
	return plan, base, err
}

// base is the branch to start from and its commit.
func (p *Planner) base(ctx context.Context, s solve.Solve) (solve.Base, error) {
	if s.Revises() {
		return p.revised(ctx, s)
	}
	branch := s.Request.Base
	if branch == "" {
		branch = s.Repo.DefaultBranch
	}
	sha, err := p.Hub.Branch(ctx, s.Repo, branch)
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
func (p *Planner) solvable(ctx context.Context, s solve.Solve) error {
	issue, err := p.Hub.Issue(ctx, s.Repo, s.Issue.Number)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return fault.Refusef("Issue #%d is not there any more: it was deleted, or moved to another repository.", s.Issue.Number)
	case err != nil:
		return fault.Outside{Err: err}
	case s.Trigger.Late && issue.Withdrawn(s.Trigger):
		text := "The label was taken off."
		if s.Trigger.Kind == solve.TriggerAssigned {
			text = "The assignment was taken back."
		}
		return fault.Refusal{Text: text, Denied: true, Silent: true}
	case !issue.Open || issue.Pull:
		return fault.Refusef("Issue #%d is not open (or is a pull request), so there is nothing to solve.", s.Issue.Number)
	}
	return nil
}

// matrix expands the request under the rules of its repository.
func (p *Planner) matrix(s solve.Solve, rules repoconfig.Rules, records []solve.TrackRecord) (solve.Plan, error) {
	req, used, err := withProfile(s.Request, rules)
	if err != nil {
		return solve.Plan{}, err
	}
	defaults := p.Rules.Defaults(rules)
	driver, err := p.driverName(req, rules)
	if err != nil && !s.Revises() {
		return solve.Plan{}, err
	}
	choice, err := p.chooseModels(s, &req, defaults, driver, records)
	if err != nil {
		return solve.Plan{}, err
	}
	plan, err := solve.Expand(req, defaults, p.Models.Temperature)
	if err != nil {
		return plan, fault.Refuse(err.Error())
	}
	plan.Sandbox, plan.Choice = driver, choice
	plan.UseRecords(s.Repo, records)
	rules.Settings.Reproduce = cmp.Or(req.Reproduce, rules.Settings.Reproduce)
	plan.Settings = &rules.Settings
	if !s.Revises() { // its base is a candidate
		plan.Reproducer = solve.PlanReproducer(plan, rules.Settings, p.Models.UsualCost)
	}
	if file := rules.Settings.File; file != "" {
		plan.Notes = append(plan.Notes, "the settings of "+file+" are used")
	}
	for _, note := range []string{used, s.Issue.Note()} {
		if note != "" {
			plan.Notes = append(plan.Notes, note)
		}
	}
	if err := p.checkAgents(plan); err != nil {
		return plan, err
	}
	for _, name := range plan.Models() {
		if err := p.Models.Ready(name); err != nil {
			return plan, fault.Refuse(err.Error())
		}
		if !p.Models.Metered(name) {
			plan.Unpriced = append(plan.Unpriced, name)
		}
	}
	return plan, nil
}

// driverName is the driver that a request, or else the repository's own file, names; else the default.
func (p *Planner) driverName(req solve.Request, rules repoconfig.Rules) (string, error) {
	offered := p.Drivers.Names()
	name := cmp.Or(req.Sandbox, rules.Sandbox, offered[0])
	if slices.Contains(offered, name) {
		return name, nil
	}
	return "", fault.Refusef("The sandbox %q is not offered here. Choose one of: %s (sandbox.driver and sandbox.choices).",
		name, strings.Join(offered, ", "))
}
