package ghapp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
)

// checkRun is one check run as it is to be. externalID finds it again: GitHub
// has no key for check runs either.
type checkRun struct {
	externalID string
	sha        string
	content    solve.Check
	started    time.Time
	ended      time.Time
}

// check writes the solve's check run or one run's, on the claim commit.
func (a *attempt) check(ctx context.Context) (solve.Receipt, error) {
	sha, err := a.claimSHA(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	receipt, err := a.putCheck(ctx, a.checkRun(sha))
	if err != nil {
		return receipt, err
	}
	return receipt, a.cardAfterwards(ctx, sha)
}

// checkRun is the check run of the effect on the claim commit, as it is to be now.
func (a *attempt) checkRun(sha string) checkRun {
	s := a.view.Solve
	run := checkRun{
		externalID: externalID(s.ID),
		sha:        sha,
		content:    solve.CheckOf(a.view),
		started:    s.Started,
		ended:      s.Ended,
	}
	if a.e.Kind == solve.EffectRun {
		run.externalID = fmt.Sprintf("%s/%d", externalID(s.ID), a.e.Run)
		run.content = solve.RunCheckOf(a.view, a.e.Run)
		run.started, run.ended = time.Time{}, time.Time{}
		for _, r := range a.view.Runs {
			if r.N == a.e.Run {
				run.started, run.ended = r.Started, r.Ended
			}
		}
	}
	return run
}

func externalID(id solve.ID) string { return "yudai:" + string(id) }

// headSuffix ends the external id of the scorecard on the champion's commit.
const headSuffix = "/head"

// claimSHA is the commit the claim made; an error if there is none and never will be.
func (a *attempt) claimSHA(ctx context.Context) (string, error) {
	claim, err := a.w.store.Effect(ctx, claimKey(a.e.Solve))
	if err != nil {
		return "", fmt.Errorf("read claim: %w", err)
	}
	switch {
	case claim.Receipt.SHA != "":
		return claim.Receipt.SHA, nil
	case claim.State == solve.EffectDead && a.view.Solve.Target() != nil:
		return "", dead("%s", claim.Error)
	case claim.State == solve.EffectDead:
		return "", dead("there is no branch: %s", claim.Error)
	default:
		return "", &againError{after: tick, reason: "the branch is not there yet"}
	}
}

// putCheck edits the check run by its id, or finds it, or makes it.
func (a *attempt) putCheck(ctx context.Context, run checkRun) (solve.Receipt, error) {
	if a.e.Receipt.ID != 0 {
		r, err := a.editCheck(ctx, a.e.Receipt.ID, run)
		if statusOf(err) != http.StatusNotFound {
			return r, err
		}
		if a.w.app.now().Before(a.e.Done.Add(a.w.cfg.Settle)) {
			return r, err // made moments ago: GitHub may not see it everywhere yet
		}
		a.unknown = true
	}
	if a.unknown {
		found, err := a.findChecks(ctx, run)
		if err != nil {
			return solve.Receipt{}, err
		}
		if len(found) > 0 {
			return a.keepFirst(ctx, found, run)
		}
		a.unknown = false
	}
	made, err := a.newCheck(ctx, run)
	if err != nil {
		return solve.Receipt{}, err
	}
	found, err := a.findChecks(ctx, run)
	if err != nil {
		return solve.Receipt{}, err // the next try finds it by its external id
	}
	if !slices.ContainsFunc(found, func(c *github.CheckRun) bool { return c.GetID() == made.GetID() }) {
		found = append(found, made) // lists lag
	}
	if len(found) == 1 {
		return checkReceipt(made), nil
	}
	return a.keepFirst(ctx, found, run)
}

func (a *attempt) newCheck(ctx context.Context, run checkRun) (*github.CheckRun, error) {
	repo, c := a.e.Repo, run.content
	opts := github.CreateCheckRunOptions{
		Name:        c.Name,
		HeadSHA:     run.sha,
		ExternalID:  &run.externalID,
		Status:      optional(c.Status),
		Conclusion:  optional(c.Conclusion),
		StartedAt:   stamp(run.started),
		CompletedAt: completed(c, run.ended),
		Output:      output(c),
		Actions:     buttons(c),
	}
	var made *github.CheckRun
	err := a.create(ctx, call{"make a check run", func(ctx context.Context, g *github.Client) (err error) {
		made, _, err = g.Checks.CreateCheckRun(ctx, repo.Owner, repo.Name, opts)
		if err == nil && made.GetID() == 0 {
			return malformed("check run")
		}
		return err
	}})
	a.made = made.GetID()
	return made, err
}

func (a *attempt) editCheck(ctx context.Context, id int64, run checkRun) (solve.Receipt, error) {
	repo, c := a.e.Repo, run.content
	change := checkChange{Actions: buttons(c), UpdateCheckRunOptions: github.UpdateCheckRunOptions{
		Name:        c.Name,
		ExternalID:  &run.externalID,
		Status:      optional(c.Status),
		Conclusion:  optional(c.Conclusion),
		CompletedAt: completed(c, run.ended),
		Output:      output(c),
	}}
	var edited github.CheckRun
	err := a.keyed(ctx, call{"edit the check run", func(ctx context.Context, g *github.Client) error {
		req, err := g.NewRequest(http.MethodPatch, fmt.Sprintf("repos/%s/%s/check-runs/%d", repo.Owner, repo.Name, id), change)
		if err != nil {
			return err
		}
		_, err = g.Do(ctx, req, &edited)
		return err
	}})
	if err != nil {
		return solve.Receipt{}, err
	}
	r := checkReceipt(&edited)
	r.ID = id
	return r, nil
}

// supersededTitle marks a check run that is not the one: its conclusion alone, neutral,
// is also what a solve without a champion ends with.
const supersededTitle = "superseded"

// keepFirst brings the oldest check run up to date and concludes the others as
// superseded: check runs cannot be deleted.
func (a *attempt) keepFirst(ctx context.Context, found []*github.CheckRun, run checkRun) (solve.Receipt, error) {
	first := found[0]
	for _, c := range found[1:] {
		if c.GetID() < first.GetID() {
			first = c
		}
	}
	receipt, err := a.editCheck(ctx, first.GetID(), run)
	if err != nil {
		return solve.Receipt{}, err
	}
	if err := a.supersede(ctx, found, first.GetID(), run); err != nil {
		return solve.Receipt{}, err
	}
	return receipt, nil
}

// supersede concludes all check runs but one as not the one.
func (a *attempt) supersede(ctx context.Context, found []*github.CheckRun, keep int64, run checkRun) error {
	for _, extra := range found {
		if extra.GetID() == keep || extra.GetOutput().GetTitle() == supersededTitle {
			continue
		}
		over := run
		over.ended = a.w.app.now()
		over.content = solve.Check{
			Name: run.content.Name, Status: "completed", Conclusion: "neutral",
			Title: supersededTitle, Summary: "Another check run of this name shows the solve.",
		}
		if _, err := a.editCheck(ctx, extra.GetID(), over); err != nil {
			return err
		}
	}
	return nil
}

// findChecks lists our check runs of the commit with the external id. The
// scorecard counts as the solve's: both are on one commit if a claim was adopted
// when the champion was on the branch already.
func (a *attempt) findChecks(ctx context.Context, run checkRun) ([]*github.CheckRun, error) {
	if failpoint.Mutated(failpoint.NoLookup) {
		return nil, nil
	}
	repo := a.e.Repo
	opts := &github.ListCheckRunsOptions{
		CheckName:   &run.content.Name,
		Filter:      github.String("all"),
		AppID:       &a.w.app.id,
		ListOptions: github.ListOptions{PerPage: 100},
	}
	var found []*github.CheckRun
	for {
		var page *github.ListCheckRunsResults
		var resp *github.Response
		err := a.read(ctx, call{"list check runs", func(ctx context.Context, c *github.Client) (err error) {
			page, resp, err = c.Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, run.sha, opts)
			return err
		}})
		if err != nil {
			return nil, err
		}
		for _, c := range page.CheckRuns {
			if id := c.GetExternalID(); id == run.externalID || id == run.externalID+headSuffix {
				found = append(found, c)
			}
		}
		if resp.NextPage == 0 {
			return found, nil
		}
		opts.Page = resp.NextPage
	}
}
