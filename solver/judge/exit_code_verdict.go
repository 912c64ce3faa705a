package judge

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// byExit is the verdict where only the exit code is known. A failing command runs again: one
// that passes once has passed, for candidates as for the base.
//
// A command that fails before and after says nothing about the candidate.
func (j *judging) byExit(ctx context.Context, now Report) error {
	exit, err := j.retryExit(ctx, regressionRun, now)
	if err != nil {
		return err
	}
	if exit != 0 {
		return j.failedExit(ctx, exit)
	}
	if len(j.own) > 0 {
		own, err := j.runOwnTests(ctx)
		if err != nil || j.verdict.Outcome != "" {
			return err
		}
		exit, err := j.retryExit(ctx, ownRun, own)
		if err != nil {
			return err
		}
		if exit != 0 && !own.Empty {
			j.conclude(solve.Failed, fmt.Sprintf("its own tests fail (exit code %d)", exit))
			return nil
		}
	}
	switch {
	case j.Base.Counts.Flaky > 0:
		j.conclude(solve.Passed, "the tests pass; on the base they fail at random")
	case j.Base.Counts.Exit != 0:
		fixed, err := j.knockOut(ctx, []string{""})
		if err != nil {
			return err
		}
		j.verdict.Fixed = len(fixed)
		j.conclude(solve.Passed, "the tests, which failed on the base, pass")
	default:
		if err := j.proveByExit(ctx); err != nil {
			return err
		}
		j.conclude(solve.Passed, "the tests pass, as they did on the base"+proofWords(j.verdict))
	}
	return nil
}

// proveByExit is [judging.prove] where only the exit code is known: the command with the
// candidate's tests counts as one test. Whether its tests failed or could not be built there, nobody can tell.
func (j *judging) proveByExit(ctx context.Context) error {
	if !bringsTests(j.Changes) || len(j.source()) == 0 {
		return nil
	}
	without, err := j.runFresh(ctx, withoutRun)
	if err != nil || !fails(without) {
		return err
	}
	if j.Tries > 1 {
		if without, err = j.repeat(ctx, withoutRun); err != nil || !fails(without) {
			return err
		}
		own, err := j.repeat(ctx, ownRun)
		if err != nil || own.NoVerdict != "" {
			return err
		}
		if fails(own) {
			j.unsteady[""] = true
			return nil
		}
	}
	j.verdict.Proofs = 1
	return nil
}

// fails reports whether the command ran and failed.
func fails(r Report) bool { return r.NoVerdict == "" && r.Counts.Exit != 0 }

// retryExit returns the exit code of a run, 0 if one of its repeats succeeds.
func (j *judging) retryExit(ctx context.Context, k kind, now Report) (int, error) {
	exit := now.Counts.Exit
	for n := 1; n < j.Tries && exit != 0 && !now.Empty; n++ {
		again, err := j.repeat(ctx, k)
		if err != nil {
			return exit, err
		}
		if again.NoVerdict != "" {
			break // the first result stands
		}
		if again.Counts.Exit == 0 {
			exit, j.verdict.Counts.Exit, j.verdict.Counts.Flaky = 0, 0, 1
			j.unsteady[""] = true
		}
	}
	return exit, nil
}

// failedExit is the verdict on a candidate whose tests fail each time.
func (j *judging) failedExit(ctx context.Context, exit int) error {
	if j.Base.Counts.Exit != 0 {
		return j.standingFailure(ctx, exit)
	}
	if err := j.rerunBase(ctx); err != nil {
		return err
	}
	if j.Base.Counts.Flaky > 0 {
		j.conclude(solve.NoVerdict, fmt.Sprintf("the tests fail (exit code %d), but on the base they fail at random", exit))
		return nil
	}
	j.conclude(solve.Failed, fmt.Sprintf("the tests fail (exit code %d) and passed on the base", exit))
	return nil
}

// standingFailure is the verdict on a candidate with which the tests fail as on the base: they
// decide nothing. Only if they pass with its changes to the tests or to what runs them, and
// not without these, it has made them pass instead of mending what they test.
func (j *judging) standingFailure(ctx context.Context, exit int) error {
	passes := false
	if len(j.own) > 0 {
		own, err := j.runOwnTests(ctx)
		if err != nil || j.verdict.Outcome != "" {
			return err
		}
		if passes = own.Counts.Exit == 0; passes && j.Tries > 1 {
			if own, err = j.repeat(ctx, ownRun); err != nil {
				return err
			}
			passes = own.Counts.Exit == 0 && (own.NoVerdict == "" || own.Empty)
		}
	}
	if passes {
		j.verdict.Tampering = "the tests pass only with its changes to the tests or to what runs them"
		j.conclude(solve.Failed, fmt.Sprintf("the tests fail as on the base (exit code %d): they pass only with its changes to the tests "+
			"or to what runs them", exit))
		return nil
	}
	j.conclude(solve.Passed, fmt.Sprintf("the tests fail as on the base (exit code %d), so they say nothing about the change", exit))
	return nil
}
