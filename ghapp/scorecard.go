package ghapp

import (
	"context"

	"github.com/yudai-dev/yudai/solve"
)

// headRun is the completed check run on the champion's commit.
func (a *attempt) headRun(pull solve.Receipt) checkRun {
	view := a.view
	view.Solve.State = solve.StateSolved // what it is as soon as this can be seen
	view.Solve.Pull = &solve.Pull{Number: pull.Number, URL: pull.URL, Commit: pull.SHA}
	run := checkRun{
		externalID: externalID(view.Solve.ID) + headSuffix,
		sha:        pull.SHA,
		content:    solve.CheckOf(view),
		started:    view.Solve.Started,
		ended:      a.w.app.now(),
	}
	run.content.Status, run.content.Conclusion = "completed", "success"
	return run
}

// scorecard puts the completed check run on the champion's commit. A pull
// request without it is better than none, so a refusal is only logged.
func (a *attempt) scorecard(ctx context.Context, pull solve.Receipt) error {
	run := a.headRun(pull)
	found, err := a.findChecks(ctx, run)
	if err == nil && len(found) == 0 {
		_, err = a.newCheck(ctx, run)
	}
	return a.tolerate(ctx, err, "scorecard check run refused")
}

// tolerate logs the refusal of what is not worth more than the rest of the effect.
func (a *attempt) tolerate(ctx context.Context, err error, message string) error {
	if o := outcomeOf(err); err == nil || o != outcomeRefused && o != outcomeRights {
		return err
	}
	a.w.log(ctx, a.e).Warn().Str("err", Redact(err.Error())).Msg(message)
	return nil
}
