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

// check writes the solve's check run or one run's, on the commit of the branch reservation.
func (t *writeTry) check(ctx context.Context) (solve.Receipt, error) {
	sha, err := t.reservationSHA(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	receipt, err := put(ctx, t, t.singleCheck(t.checkRun(sha)))
	if err != nil {
		return receipt, err
	}
	return receipt, t.scorecardAfterwards(ctx, sha)
}

// checkRun is the check run of the effect on the reservation's commit, as it is to be now.
func (t *writeTry) checkRun(sha string) checkRun {
	s := t.view.Solve
	run := checkRun{
		externalID: externalID(s.ID),
		sha:        sha,
		content:    report.CheckOf(t.view),
		started:    s.Started,
		ended:      s.Ended,
	}
	if t.e.Kind == solve.EffectRun {
		run.externalID = fmt.Sprintf("%s/%d", externalID(s.ID), t.e.Run)
		run.content = report.RunCheckOf(t.view, t.e.Run)
		run.started, run.ended = time.Time{}, time.Time{}
		for _, r := range t.view.Runs {
			if r.N == t.e.Run {
				run.started, run.ended = r.Started, r.Ended
			}
		}
	}
	return run
}

func externalID(id solve.ID) string { return "yudai:" + string(id) }

// headSuffix ends the external id of the scorecard on the champion's commit.
const headSuffix = "/head"

// reservationSHA is the commit of the branch reservation. If there is none, an error says whether there will be.
func (t *writeTry) reservationSHA(ctx context.Context) (string, error) {
	reserved, err := t.w.store.Effect(ctx, reservationKey(t.e.Solve))
	if err != nil {
		return "", fmt.Errorf("read the branch reservation: %w", err)
	}
	switch {
	case reserved.Receipt.SHA != "":
		return reserved.Receipt.SHA, nil
	case reserved.State == solve.EffectDead && t.view.Solve.Target() != nil:
		return "", permanent("%s", reserved.Error)
	case reserved.State == solve.EffectDead:
		return "", permanent("there is no branch: %s", reserved.Error)
	default:
		return "", &retryLaterError{after: tick, reason: "the branch is not there yet"}
	}
}

// singleCheck is the check run as something to be shown once.
func (t *writeTry) singleCheck(run checkRun) single[*github.CheckRun] {
	return single[*github.CheckRun]{
		find:    func(ctx context.Context) ([]*github.CheckRun, error) { return t.findChecks(ctx, run) },
		create:  func(ctx context.Context) (*github.CheckRun, error) { return t.newCheck(ctx, run) },
		edit:    func(ctx context.Context, id int64) (solve.Receipt, error) { return t.editCheck(ctx, id, run) },
		receipt: checkReceipt,
		remove:  func(ctx context.Context, extra *github.CheckRun) error { return t.supersede(ctx, extra, run) },
	}
}

func (t *writeTry) newCheck(ctx context.Context, run checkRun) (made *github.CheckRun, err error) {
	err = t.nonIdempotent(ctx, "make a check run", func(ctx context.Context, c *github.Client) (err error) {
		made, err = t.sendCheck(ctx, c, http.MethodPost, "", run)
		return complete(err, made.GetID() != 0, "check run")
	})
	t.made = made.GetID()
	return made, err
}

func (t *writeTry) editCheck(ctx context.Context, id int64, run checkRun) (receipt solve.Receipt, err error) {
	run.sha, run.started = "", time.Time{} // neither changes
	err = t.idempotent(ctx, "edit the check run", func(ctx context.Context, c *github.Client) error {
		edited, err := t.sendCheck(ctx, c, http.MethodPatch, fmt.Sprintf("/%d", id), run)
		receipt = checkReceipt(edited)
		return err
	})
	if err != nil {
		return solve.Receipt{}, err
	}
	receipt.ID = id
	return receipt, nil
}

// supersededTitle marks a check run that is not the one: its conclusion alone, neutral,
// is also what a solve without a champion ends with.
const supersededTitle = "superseded"

// supersede concludes a check run as not the one: check runs cannot be deleted.
func (t *writeTry) supersede(ctx context.Context, extra *github.CheckRun, run checkRun) error {
	if extra.GetOutput().GetTitle() == supersededTitle {
		return nil
	}
	run.ended = t.w.app.now()
	run.content = report.Check{
		Name: run.content.Name, Status: "completed", Conclusion: "neutral",
		Title: supersededTitle, Summary: "Another check run of this name shows the solve.",
	}
	_, err := t.editCheck(ctx, extra.GetID(), run)
	return err
}

// findChecks lists our check runs of the commit with the external id. The
// scorecard counts as the solve's: both are on one commit if a reservation was adopted
// when the champion was on the branch already.
func (t *writeTry) findChecks(ctx context.Context, run checkRun) ([]*github.CheckRun, error) {
	if failpoint.Mutated(failpoint.NoLookup) {
		return nil, nil
	}
	repo := t.e.Repo
	found, err := list(ctx, t.read, "list check runs",
		func(ctx context.Context, c *github.Client, page github.ListOptions) ([]*github.CheckRun, *github.Response, error) {
			answer, resp, err := c.Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, run.sha, &github.ListCheckRunsOptions{
				CheckName: &run.content.Name, Filter: github.String("all"), AppID: &t.w.app.id, ListOptions: page,
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
