package ghapp

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// scorecardRun is the completed check run on the champion's commit.
func (t *writeTry) scorecardRun(pull solve.Receipt) checkRun {
	view := t.view
	view.Solve.State = solve.StateSolved // what it is as soon as this can be seen
	view.Solve.Pull = &solve.Pull{Number: pull.Number, URL: pull.URL, Commit: pull.SHA}
	run := checkRun{
		externalID: externalID(view.Solve.ID) + headSuffix,
		sha:        pull.SHA,
		content:    report.CheckOf(view),
		started:    view.Solve.Started,
		ended:      t.w.app.now(),
	}
	run.content.Status, run.content.Conclusion = "completed", "success"
	return run
}

// scorecard puts the completed check run on the champion's commit. A pull
// request without it is better than none, so a refusal is only logged.
func (t *writeTry) scorecard(ctx context.Context, pull solve.Receipt) error {
	run := t.scorecardRun(pull)
	found, err := t.findChecks(ctx, run)
	if err == nil && len(found) == 0 {
		_, err = t.newCheck(ctx, run)
	}
	return t.logRefusal(ctx, err, "scorecard check run refused")
}

// scorecardAfterwards adds a scorecard that GitHub refused when the pull request was
// opened: the App may have got the permission since. It waits until GitHub's lists
// show the pull request's checks.
func (t *writeTry) scorecardAfterwards(ctx context.Context, reserved string) error {
	s := t.view.Solve
	if t.e.Kind != solve.EffectCheck || s.State != solve.StateSolved || s.Pull == nil || s.Pull.Commit == reserved {
		return nil
	}
	pull, err := t.w.store.Effect(ctx, string(s.ID)+"/"+string(solve.EffectPull))
	if err != nil {
		return fmt.Errorf("read pull request: %w", err)
	}
	if pull.State != solve.EffectApplied || t.w.app.now().Before(pull.Done.Add(t.w.cfg.ListLag)) {
		return nil
	}
	return t.scorecard(ctx, pull.Receipt)
}

// logRefusal logs a refusal that must not fail the rest of the effect.
func (t *writeTry) logRefusal(ctx context.Context, err error, message string) error {
	if o := outcomeOf(err); err == nil || o != outcomeRefused && o != outcomePermission {
		return err
	}
	t.w.log(ctx, t.e).Warn().Str(logkey.Error, Redact(err.Error())).Msg(message)
	return nil
}
