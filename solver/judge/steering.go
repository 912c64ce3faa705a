package judge

import (
	"context"
	"slices"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
)

// steering is what the base says about the files of a patch that steer its tests. It is asked
// before the patch is applied.
type steering struct {
	files []string   // they steer by their names, or because the base calls or would load them
	mixed mixedFiles // they steer if a part of them changes
}

// steering finds the files of the patch that belong to the tests: tests and what helps them,
// the runner's configuration, scripts that the test command reaches, and new files that would
// be loaded in the place of others. All else is the candidate's source.
func (j *judging) steering(ctx context.Context) (steering, error) {
	calls, err := j.calls(ctx)
	if err != nil {
		return steering{}, err
	}
	shadows, err := j.shadows(ctx)
	if err != nil {
		return steering{}, err
	}
	vendored, err := j.vendoredForTests(ctx)
	if err != nil {
		return steering{}, err
	}
	mixed, err := j.mixed(ctx, calls.text.String())
	return steering{slices.Concat(touched(j.Changes, isTestSide), calls.files, shadows, vendored), mixed}, err
}

// find lists the files after the patch was applied.
func (s steering) find(ctx context.Context, sb sandbox.Sandbox) []string {
	all := slices.Concat(s.files, s.mixed.changed(ctx, sb))
	slices.Sort(all)
	return slices.Compact(all)
}

// steers are the files among own that are no tests themselves.
func steers(own []string) (out []string) {
	for _, p := range own {
		if !patch.IsTestFile(p) || patch.IsTestConfig(p) {
			out = append(out, p)
		}
	}
	return out[:min(len(out), shown)]
}

// tellRestored adds to the reason of a failed regression what files of the candidate were put
// back that are no tests, and whether the tests pass with them: a change can need them honestly.
func (j *judging) tellRestored(ctx context.Context) error {
	n := len(j.verdict.Restored)
	if n == 0 {
		return nil
	}
	own, err := j.runFresh(ctx, ownRun)
	if err != nil {
		return err
	}
	if own.NoVerdict == "" && regressionReason(compare(j.Base, own), j.Base, own) == "" {
		j.verdict.Reason += ", but not with its own version of " + count(n, "file that steers", "files that steer") + " tests"
	} else {
		j.verdict.Reason += "; " + count(n, "file that steers tests was", "files that steer tests were") + " put back"
	}
	return nil
}
