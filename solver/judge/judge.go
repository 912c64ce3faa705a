package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/tree"
)

// Input is what a verdict is made from, beside a clean copy of the base.
type Input struct {
	Patch   []byte
	Changes []solve.FileChange // what the patch changes, read from it by package solve
	Test    solve.TestCommand
	Base    Report // of the same command on the base, without network
	// Timeout and MaxOutput (bytes) bound each of the up to two runs of the tests.
	Timeout   time.Duration
	MaxOutput int64
	// RequireFix: where tests fail on the base, a candidate that fixes none of
	// them and brings no new passing test has failed.
	RequireFix bool
}

// Judge applies the patch in a clean copy of the base and gives a verdict.
//
// The first run is the regression: the candidate's code with the base's own
// tests. What the candidate changed or added of tests and of the runner's
// configuration is put back or taken away for it. If there was any such thing, a
// second run has the candidate's tree as it is: its own tests must pass, and
// what it weakens shows there. The verdict's lists are those of the regression,
// with the failing and passing new tests of the second run.
//
// log is the output of the runs. An error means that the sandbox failed: there
// is no verdict then, and judging again may give one.
func Judge(ctx context.Context, sb sandbox.Sandbox, in Input) (solve.Verdict, []byte, error) {
	began := time.Now()
	j := judging{Input: in, sb: sb}
	err := j.judge(ctx)
	j.verdict.Duration = time.Since(began)
	return j.verdict, j.log.Bytes(), err
}

// judging is one verdict in the making.
type judging struct {
	Input
	sb      sandbox.Sandbox
	verdict solve.Verdict
	log     bytes.Buffer
	own     []string // files of tests and their configuration that the patch touches
}

func (j *judging) judge(ctx context.Context) error {
	if j.Base.NoVerdict != "" {
		j.say(solve.NoVerdict, "the base's own tests give no verdict: "+j.Base.NoVerdict)
		return nil
	}
	mixed, err := j.mixed(ctx)
	if err != nil {
		return err
	}
	if err := tree.ApplyPatch(ctx, j.sb, j.Patch); err != nil {
		if errors.Is(err, tree.ErrPatch) {
			fmt.Fprintf(&j.log, "%v\n", err)
			j.say(solve.Failed, "the patch does not apply to the base commit")
			return nil
		}
		return err
	}
	j.own = slices.Concat(testSide(j.Changes), named(j.Changes, j.Test.Command), mixed.changed(ctx, j.sb))
	if err := tree.RestoreTests(ctx, j.sb, j.own); err != nil {
		return err
	}
	now, err := j.run(ctx, "the base's tests on the candidate's code")
	if err != nil {
		return err
	}
	j.verdict.Counts = now.Counts
	j.verdict.Weakens = deleted(j.Changes)
	if now.NoVerdict != "" {
		j.say(solve.NoVerdict, now.NoVerdict)
		return nil
	}
	if j.Test.Format == "exit" {
		return j.byExit(ctx, now)
	}
	return j.byTest(ctx, now)
}

// byTest is the verdict of formats that name their tests.
func (j *judging) byTest(ctx context.Context, now Report) error {
	d := compare(j.Base, now)
	d.fill(&j.verdict)
	if reason := regression(d, j.Base, now); reason != "" {
		j.say(solve.Failed, reason)
		return nil
	}
	newPass := len(d.newPass)
	if len(j.own) > 0 {
		own, err := j.again(ctx)
		if err != nil {
			return err
		}
		if own.NoVerdict != "" && !own.Empty {
			j.say(solve.NoVerdict, "with the candidate's own tests, "+own.NoVerdict)
			return nil
		}
		newPass = j.ownTests(d, now, own)
		if j.verdict.Outcome != "" {
			return nil
		}
	}
	if j.RequireFix && len(d.still) > 0 && len(d.fixed) == 0 && newPass == 0 {
		j.say(solve.Failed, unproven(len(d.still), len(j.verdict.Weakens)))
		return nil
	}
	j.say(solve.Passed, praise(d, newPass))
	return nil
}

// ownTests judges the second run against the base and the regression, and
// returns how many new tests pass.
func (j *judging) ownTests(reg delta, now, own Report) int {
	d := compare(j.Base, own)
	// A changed test that fails where the base's version of it passes.
	failing := d.newFail
	for _, name := range d.broken {
		if own.Tests[name] == Fail {
			failing = append(failing, name)
		}
	}
	j.verdict.NewPass, j.verdict.NewFail = len(d.newPass), len(failing)
	j.verdict.NewFailTests = first(failing)
	if len(d.builds) == 0 {
		j.verdict.Weakens = weakens(j.Changes, j.own, now, own)
	}
	switch {
	case len(d.builds) > 0:
		j.say(solve.Failed, "with its own tests, the code does not build: "+count(len(d.builds), "package", "packages"))
	case len(failing) > 0:
		j.say(solve.Failed, fmt.Sprintf("its own tests fail: %d of %d", len(failing), len(failing)+len(d.newPass)+own.passing(j.Base)))
	case own.Counts.Exit != 0 && now.Counts.Exit == 0 && len(d.still) == 0 && !own.Empty:
		j.say(solve.Failed, fmt.Sprintf("with its own tests, the test command exits with %d although no test fails", own.Counts.Exit))
	}
	return len(d.newPass)
}

// passing counts the tests of the base that pass in r.
func (r Report) passing(base Report) int {
	n := 0
	for name := range base.Tests {
		if r.Tests[name] == Pass {
			n++
		}
	}
	return n
}

// byExit is the verdict where only the exit code is known.
func (j *judging) byExit(ctx context.Context, now Report) error {
	before, exit := j.Base.Counts.Exit, now.Counts.Exit
	switch {
	case exit != 0 && before != 0:
		j.say(solve.Failed, fmt.Sprintf("the tests still fail (exit code %d)", exit))
		return nil
	case exit != 0:
		j.say(solve.Failed, fmt.Sprintf("the tests fail (exit code %d) and passed on the base", exit))
		return nil
	}
	if len(j.own) > 0 {
		own, err := j.again(ctx)
		if err != nil {
			return err
		}
		switch {
		case own.NoVerdict != "" && !own.Empty:
			j.say(solve.NoVerdict, "with the candidate's own tests, "+own.NoVerdict)
			return nil
		case own.Counts.Exit != 0 && !own.Empty:
			j.say(solve.Failed, fmt.Sprintf("its own tests fail (exit code %d)", own.Counts.Exit))
			return nil
		}
	}
	if before != 0 {
		j.say(solve.Passed, "the tests, which failed on the base, pass")
	} else {
		j.say(solve.Passed, "the tests pass, as they did on the base")
	}
	return nil
}

// again runs the tests on the candidate's tree as it is.
func (j *judging) again(ctx context.Context) (Report, error) {
	if err := tree.Reset(ctx, j.sb); err != nil {
		return Report{}, err
	}
	if err := tree.ApplyPatch(ctx, j.sb, j.Patch); err != nil {
		return Report{}, err
	}
	return j.run(ctx, "the candidate's own tests")
}

func (j *judging) run(ctx context.Context, title string) (Report, error) {
	fmt.Fprintf(&j.log, "==> %s: %s\n", title, j.Test.Command)
	r, log, err := RunTests(ctx, j.sb, j.Test, j.Timeout, j.MaxOutput)
	j.log.Write(log)
	fmt.Fprintf(&j.log, "\n==> exit code %d\n", r.Counts.Exit)
	return r, err
}

func (j *judging) say(o solve.Outcome, reason string) {
	j.verdict.Outcome, j.verdict.Reason = o, reason
}
