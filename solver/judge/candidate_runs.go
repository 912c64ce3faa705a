package judge

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/solver/tree"
)

// kind is one of the runs of a verdict. It says what of the candidate is in the work tree; all
// else is the base's.
type kind struct {
	title  string
	source bool // what belongs to neither tests nor their configuration
	tests  bool // tests and their configuration
	// command is for some of the tests only; "" is the whole command.
	command string
	loaded  bool // of the source, what may be loaded by its presence; see [judging.loadedByPresence]
}

var (
	regressionRun = kind{title: "the base's tests on the candidate's code", source: true}
	ownRun        = kind{title: "the candidate's own tests", source: true, tests: true}
	withoutRun    = kind{title: "the candidate's own tests on the base's code", tests: true}
	knockOutRun   = kind{title: "the candidate without its source", tests: true, loaded: true}
	controlRun    = kind{title: "the base's tests on the base"}
)

// fresh opens another clean copy of the base instead of the one that is open. What ran there
// can have left marks for the next run, in /tmp, in the home directory or in a cache.
func (j *judging) fresh(ctx context.Context) error {
	j.closeIt()
	j.closeIt = func() {}
	sb, closeIt, err := j.Open(ctx)
	if err != nil {
		return fmt.Errorf("open a clean copy of the base: %w", err)
	}
	j.sb, j.closeIt = sb, closeIt
	return nil
}

// runFresh makes a run in a fresh copy of the base.
func (j *judging) runFresh(ctx context.Context, k kind) (Report, error) {
	if err := j.fresh(ctx); err != nil {
		return Report{}, err
	}
	if err := j.apply(ctx, k); err != nil {
		return Report{}, err
	}
	return j.run(ctx, k)
}

// repeat makes a run again.
func (j *judging) repeat(ctx context.Context, k kind) (Report, error) {
	k.title += ", once more"
	return j.runFresh(ctx, k)
}

// apply puts what the run needs of the candidate on a work tree of the base.
func (j *judging) apply(ctx context.Context, k kind) error {
	if !k.source && !k.tests {
		return nil
	}
	if err := tree.ApplyPatch(ctx, j.sb, j.Patch); err != nil {
		return err
	}
	return tree.RestoreTests(ctx, j.sb, j.undone(k))
}

// source lists the files of the patch that belong to neither tests nor their configuration.
func (j *judging) source() []string {
	return j.undone(withoutRun)
}
