package ghapp

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
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
		content:    report.CheckOf(view),
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

// cardAfterwards makes up for a scorecard that was refused when the pull request was
// opened: for want of a right that the App has been given since. Before GitHub's
// lists have settled nothing can be told.
func (a *attempt) cardAfterwards(ctx context.Context, claim string) error {
	s := a.view.Solve
	if a.e.Kind != solve.EffectCheck || s.State != solve.StateSolved || s.Pull == nil || s.Pull.Commit == claim {
		return nil
	}
	pull, err := a.w.store.Effect(ctx, string(s.ID)+"/"+string(solve.EffectPull))
	if err != nil {
		return fmt.Errorf("read pull request: %w", err)
	}
	if pull.State != solve.EffectApplied || a.w.app.now().Before(pull.Done.Add(a.w.cfg.Settle)) {
		return nil
	}
	return a.scorecard(ctx, pull.Receipt)
}

// tolerate logs the refusal of what is not worth more than the rest of the effect.
func (a *attempt) tolerate(ctx context.Context, err error, message string) error {
	if o := outcomeOf(err); err == nil || o != outcomeRefused && o != outcomeRights {
		return err
	}
	a.w.log(ctx, a.e).Warn().Str(logkey.Error, Redact(err.Error())).Msg(message)
	return nil
}
