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

// Input is what a verdict needs.
type Input struct {
	Patch   []byte
	Changes []solve.FileChange // what the patch changes, read from it by package solve
	Base    Report             // of the same command on the base, without network
	Trial
	// Open opens a clean copy of the base, in which nothing has run since it was prepared.
	// Only one is open at a time: Judge calls closeIt before it opens another, and at its end.
	Open func(ctx context.Context) (sb sandbox.Sandbox, closeIt func(), err error)
}

// Result is a verdict, with the output and the base's report.
type Result struct {
	Verdict solve.Verdict
	Log     []byte // the output of the runs
	// Base is Input.Base, joined with another run of the base if there was one.
	Base Report
	// Results are those of each test, as far as they are known.
	Results Results
}

// Judge applies the patch in clean copies of the base and gives a verdict.
//
// The first run is the regression: the candidate's code with the base's own tests. For it,
// Judge restores or removes the tests and the runner's configuration that the candidate
// changed. If there are any, a second run uses the candidate's tree as it is: the candidate's
// own tests must pass, and weakened tests show. The lists of the verdict are those of the
// regression, with the passing and failing new tests of the second run. A third run has the
// candidate's tests on the base's code: see [judging.prove]. What the regression shows as fixed
// must fail again without the candidate's source: see [judging.knockOut].
//
// Judge repeats a run that would fail the candidate. A test that does not fail each time is
// flaky: it counts neither against the candidate nor for it.
//
// An error means that the sandbox failed. There is no verdict then; another call may give one.
func Judge(ctx context.Context, in Input) (Result, error) {
	began := time.Now()
	j := newJudging(in)
	defer func() { j.closeIt() }()
	err := j.judge(ctx)
	if err == nil && j.verdict.Outcome == solve.Passed && j.lied == "" {
		err = j.countUnsteady(ctx)
	}
	if err == nil && j.lied != "" {
		j.verdict.Tampering = j.lied
		j.conclude(solve.Failed, "it changes what tests report: "+j.lied)
	}
	j.verdict.Duration = time.Since(began)
	return Result{Verdict: j.verdict, Log: j.log.Bytes(), Base: j.learned, Results: j.results()}, err
}

// judging makes one verdict.
type judging struct {
	Input
	sb       sandbox.Sandbox // the copy of the base that is open
	closeIt  func()
	verdict  solve.Verdict
	log      bytes.Buffer
	lied     string          // how the candidate changes what tests report; "" if nothing was found
	inside   []insideTest    // weakened tests inside sources; see [judging.weakenedInside]
	own      []string        // files of tests and their configuration that the patch touches
	without  *Report         // of the candidate's own tests on the base's code, if they ran there
	learned  Report          // the base's report, from runs of the base alone
	unsteady map[string]bool // tests whose results differ between two tries with the candidate; "" is the command

	regression, withOwn map[string]Status // see Results
}

func newJudging(in Input) *judging {
	return &judging{Input: in, learned: in.Base, closeIt: func() {}, unsteady: map[string]bool{}}
}

// layOut puts the candidate's source on a fresh copy of the base, and finds out which of its
// files belong to the tests.
func (j *judging) layOut(ctx context.Context) error {
	if err := j.fresh(ctx); err != nil {
		return err
	}
	steering, err := j.steering(ctx)
	if err != nil {
		return err
	}
	if j.verdict.NoCode, err = j.noCode(ctx); err != nil {
		return err
	}
	if j.inside, err = j.weakenedInside(ctx); err != nil {
		return err
	}
	if err := tree.ApplyPatch(ctx, j.sb, j.Patch); err != nil {
		return err
	}
	j.own = steering.find(ctx, j.sb)
	j.verdict.Restored = steers(j.own)
	return tree.RestoreTests(ctx, j.sb, j.own)
}

func (j *judging) judge(ctx context.Context) error {
	if j.Base.NoVerdict != "" {
		j.conclude(solve.NoVerdict, "the base's own tests give no verdict: "+j.Base.NoVerdict)
		return nil
	}
	if err := j.layOut(ctx); err != nil {
		if errors.Is(err, tree.ErrPatch) {
			fmt.Fprintf(&j.log, "%v\n", err)
			j.conclude(solve.Failed, "the patch does not apply to the base commit")
			return nil
		}
		return err
	}
	now, err := j.run(ctx, regressionRun)
	if err != nil {
		return err
	}
	j.verdict.Counts = now.Counts
	j.verdict.Weakens = deleted(j.Changes)
	if now.NoVerdict != "" {
		j.conclude(solve.NoVerdict, now.NoVerdict)
		return nil
	}
	if j.Test.Format == "exit" {
		return j.byExit(ctx, now)
	}
	return j.byTest(ctx, now)
}

// byTest is the verdict of formats that name their tests.
func (j *judging) byTest(ctx context.Context, now Report) error {
	now, err := j.confirm(ctx, regressionRun, now)
	if err != nil {
		return err
	}
	j.regression = now.Tests
	d := j.compare(now)
	d.fill(&j.verdict)
	if reason := regressionReason(d, j.Base, now); reason != "" {
		j.conclude(solve.Failed, reason)
		return j.tellRestored(ctx)
	}
	if len(j.own) > 0 {
		own, err := j.runOwnTests(ctx)
		if err != nil || j.verdict.Outcome != "" {
			return err
		}
		j.withOwn = own.Tests
		d = j.compare(now) // without what was flaky in the second run
		d.fill(&j.verdict)
		j.ownTests(now, own)
		if j.verdict.Outcome != "" {
			return nil
		}
		if err := j.prove(ctx, now, own); err != nil {
			return err
		}
	}
	if d.fixed, err = j.knockOut(ctx, d.fixed); err != nil {
		return err
	}
	j.verdict.Fixed, j.verdict.FixedTests = len(d.fixed), first(d.fixed)
	for _, t := range j.inside {
		j.verdict.Weakens = sorted(append(j.verdict.Weakens, t.file))
	}
	if len(d.fixed)+d.kept+len(d.still)+j.verdict.NewPass == 0 && len(d.flaky) > 0 {
		j.conclude(solve.NoVerdict, "no test is left that has the same result in every run"+flakyLeftOut(d))
		return nil
	}
	j.conclude(solve.Passed, passReason(d, j.verdict))
	return nil
}

// compare compares the regression with the base. What a weakened test inside a source says now
// fixes nothing.
func (j *judging) compare(now Report) delta {
	d := compare(j.Base, now)
	d.fixed = slices.DeleteFunc(d.fixed, func(name string) bool {
		return slices.ContainsFunc(j.inside, func(t insideTest) bool { return t.reports(name) })
	})
	return d
}

// ownTests judges the second run against the base and the regression.
func (j *judging) ownTests(now, own Report) {
	d := compare(j.Base, own)
	// A changed test that fails although the base's version passes.
	failing := d.newFail
	for _, name := range d.broken {
		if own.Tests[name] == Fail {
			failing = append(failing, name)
		}
	}
	j.verdict.NewPass, j.verdict.NewFail = len(d.newPass), len(failing)
	j.verdict.NewFailTests = first(failing)
	if len(d.builds) == 0 {
		j.verdict.Weakens = weakens(j.Changes, j.own, now.without(d.flaky), own)
	}
	switch {
	case len(d.builds) > 0:
		j.conclude(solve.Failed, "with its own tests, the code does not build: "+count(len(d.builds), "package", "packages"))
	case len(failing) > 0:
		j.conclude(solve.Failed, fmt.Sprintf("its own tests fail: %d of %d", len(failing), len(failing)+len(d.newPass)+own.passing(j.Base)))
	case onlyExit(j.Base, own) && now.Counts.Exit == 0:
		j.conclude(solve.Failed, fmt.Sprintf("with its own tests, the test command exits with %d although no test fails", own.Counts.Exit))
	}
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

// runOwnTests runs the tests on the candidate's tree as it is. It concludes if they give no verdict.
func (j *judging) runOwnTests(ctx context.Context) (Report, error) {
	own, err := j.runFresh(ctx, ownRun)
	if err == nil && own.NoVerdict != "" && !own.Empty {
		j.conclude(solve.NoVerdict, "with the candidate's own tests, "+own.NoVerdict)
	}
	if err != nil || own.NoVerdict != "" || j.Test.Format == "exit" {
		return own, err
	}
	return j.confirm(ctx, ownRun, own)
}

func (j *judging) conclude(o solve.Outcome, reason string) {
	j.verdict.Outcome, j.verdict.Reason = o, reason
}
