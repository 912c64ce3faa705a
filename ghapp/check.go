package ghapp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// checkRun is one check run as it is to be. externalID finds it again: GitHub
// has no key for check runs either.
type checkRun struct {
	externalID string
	sha        string
	content    report.Check
	started    time.Time
	ended      time.Time
}

// check writes the solve's check run or one run's, on the claim commit.
func (a *attempt) check(ctx context.Context) (solve.Receipt, error) {
	sha, err := a.claimSHA(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	receipt, err := put(ctx, a, a.singleCheck(a.checkRun(sha)))
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
		content:    report.CheckOf(a.view),
		started:    s.Started,
		ended:      s.Ended,
	}
	if a.e.Kind == solve.EffectRun {
		run.externalID = fmt.Sprintf("%s/%d", externalID(s.ID), a.e.Run)
		run.content = report.RunCheckOf(a.view, a.e.Run)
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

// singleCheck is the check run as something to be shown once.
func (a *attempt) singleCheck(run checkRun) single[*github.CheckRun] {
	return single[*github.CheckRun]{
		find:    func(ctx context.Context) ([]*github.CheckRun, error) { return a.findChecks(ctx, run) },
		create:  func(ctx context.Context) (*github.CheckRun, error) { return a.newCheck(ctx, run) },
		edit:    func(ctx context.Context, id int64) (solve.Receipt, error) { return a.editCheck(ctx, id, run) },
		current: func(*github.CheckRun) bool { return false },
		receipt: checkReceipt,
		remove:  func(ctx context.Context, extra *github.CheckRun) error { return a.supersede(ctx, extra, run) },
	}
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
	made, err := get(ctx, a.create, "make a check run",
		func(ctx context.Context, c *github.Client) (*github.CheckRun, *github.Response, error) {
			made, resp, err := c.Checks.CreateCheckRun(ctx, repo.Owner, repo.Name, opts)
			return made, resp, whole(err, made.GetID() != 0, "check run")
		})
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
	err := a.keyed(ctx, "edit the check run", func(ctx context.Context, g *github.Client) error {
		req, err := g.NewRequest(http.MethodPatch, fmt.Sprintf("repos/%s/%s/check-runs/%d", repo.Owner, repo.Name, id), change)
		if err != nil {
			return err
		}
		_, err = g.Do(ctx, req, &edited)
		return err
	})
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

// supersede concludes a check run as not the one: check runs cannot be deleted.
func (a *attempt) supersede(ctx context.Context, extra *github.CheckRun, run checkRun) error {
	if extra.GetOutput().GetTitle() == supersededTitle {
		return nil
	}
	run.ended = a.w.app.now()
	run.content = report.Check{
		Name: run.content.Name, Status: "completed", Conclusion: "neutral",
		Title: supersededTitle, Summary: "Another check run of this name shows the solve.",
	}
	_, err := a.editCheck(ctx, extra.GetID(), run)
	return err
}

// findChecks lists our check runs of the commit with the external id. The
// scorecard counts as the solve's: both are on one commit if a claim was adopted
// when the champion was on the branch already.
func (a *attempt) findChecks(ctx context.Context, run checkRun) ([]*github.CheckRun, error) {
	if failpoint.Mutated(failpoint.NoLookup) {
		return nil, nil
	}
	repo := a.e.Repo
	found, err := list(ctx, a.read, "list check runs",
		func(ctx context.Context, c *github.Client, page github.ListOptions) ([]*github.CheckRun, *github.Response, error) {
			answer, resp, err := c.Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, run.sha, &github.ListCheckRunsOptions{
				CheckName: &run.content.Name, Filter: github.String("all"), AppID: &a.w.app.id, ListOptions: page,
			})
			if err != nil {
				return nil, resp, err
			}
			return answer.CheckRuns, resp, nil
		})
	return slices.DeleteFunc(found, func(c *github.CheckRun) bool {
		id := c.GetExternalID()
		return id != run.externalID && id != run.externalID+headSuffix
	}), err
}
