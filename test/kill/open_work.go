package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/checker"
)

// openWork says what people would still wait for, "" if nothing.
func (e *episode) openWork() string {
	kinds, id := e.comments()
	if e.started.IsZero() || kinds[string(solve.EffectFinal)] == "" {
		return "no final comment"
	}
	for _, d := range e.hub.Deliveries(e.app) {
		if !d.Done {
			return "a delivery is on its way"
		}
	}
	if strings.Contains(kinds[string(solve.EffectNotice)], "Stop it with") {
		return "the progress comment is old"
	}
	if e.point.scene == sceneComment && e.acted > 0 && kinds[string(solve.EffectReply)] == "" {
		return "the question is not answered"
	}
	checks, err := e.hub.Checks(e.repo.FullName())
	if err != nil {
		return err.Error()
	}
	for _, c := range checks {
		if c.Status != "completed" {
			return "check run " + c.Name + " is not completed"
		}
	}
	if e.solved() && len(checks) < len(models())+2 {
		return "a check run is missing"
	}
	i, err := e.hub.Issue(e.repo.FullName(), e.issue)
	if err != nil {
		return err.Error()
	}
	reactions := len(i.Reactions)
	for _, c := range i.Comments {
		reactions += len(c.Reactions)
	}
	if reactions < 2 {
		return "a reaction is missing"
	}
	if left := e.boxes(); len(left) > 0 {
		return fmt.Sprintf("sandboxes of %s are left: %s", id, strings.Join(left, ", "))
	}
	return ""
}

// solved says that the final comment tells of a pull request.
func (e *episode) solved() bool {
	kinds, _ := e.comments()
	return strings.Contains(kinds[string(solve.EffectFinal)], "**Solved:**")
}

// boxes are the directories of sandboxes and bases.
func (e *episode) boxes() []string {
	var out []string
	for _, kind := range []string{"sandboxes", "bases", "making", "trash"} {
		list, err := os.ReadDir(filepath.Join(e.sandboxes(), kind))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return []string{err.Error()}
		}
		for _, d := range list {
			out = append(out, d.Name())
		}
	}
	return out
}

// verdict is what judge counts. If something is open and nothing else is wrong,
// people see everything already, but the program has to find that out yet: it
// gets another life for that.
func (e *episode) verdict(ctx context.Context) (checker.Report, error) {
	report, err := e.judge(ctx)
	if err != nil || len(report.Lost) == 0 || len(e.found)+len(report.Doubled)+len(report.Leaked)+len(report.Paid) > 0 {
		return report, err
	}
	if err := e.runOnceMore(ctx); err != nil {
		return report, err
	}
	return e.judge(ctx)
}

// judge counts from outside. Crashes must not change how a solve ends: the
// models are right, so it ends with a pull request, unless somebody cancelled it.
func (e *episode) judge(ctx context.Context) (checker.Report, error) {
	_, id := e.comments()
	lines, err := e.provider.lines(id)
	if err == nil {
		err = os.WriteFile(e.calls(), lines, 0o600)
	}
	if err != nil {
		return checker.Report{}, fmt.Errorf("write model calls: %w", err)
	}
	report, err := checker.Check(ctx, checker.Evidence{
		History: e.history(), Store: e.store(), Sandboxes: e.sandboxes(), Calls: e.calls(), Crashes: e.crashes,
	})
	if err != nil {
		return report, err
	}
	report.Lost = append(report.Lost, e.found...)
	report.Doubled = append(report.Doubled, e.doubled...)
	pulls, err := e.hub.Pulls(e.repo.FullName())
	if err != nil {
		return report, err
	}
	if e.point.scene != sceneCancel && len(pulls) == 0 {
		kinds, _ := e.comments()
		report.Lost = append(report.Lost, "there is no pull request, although nothing but crashes happened: "+firstWords(kinds[string(solve.EffectFinal)]))
	}
	return report, nil
}

// firstWords is the beginning of a comment, on one line.
func firstWords(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 400)]
}
