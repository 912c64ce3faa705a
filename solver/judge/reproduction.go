package judge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/tree"
)

// Reproduce judges a reproducer's tests before they judge anybody. It passes if they are nothing
// but new tests, of which at least one runs and fails on the base, twice, while all others give
// what they gave before; [solve.Verdict.ProofTests] names those that fail. An error means that the
// sandbox failed.
//
// docs/decisions/0040-a-reproducer.md has the reasons.
func Reproduce(ctx context.Context, in Input) (Result, error) {
	began := time.Now()
	j := newJudging(in)
	defer func() { j.closeIt() }()
	err := j.reproduce(ctx)
	if err == nil && j.lied != "" {
		j.verdict.Tampering = j.lied
		j.conclude(solve.Failed, "it changes what tests report: "+j.lied)
	}
	j.verdict.Duration = time.Since(began)
	return Result{Verdict: j.verdict, Log: j.log.Bytes(), Base: j.learned}, err
}

func (j *judging) reproduce(ctx context.Context) error {
	if j.Base.NoVerdict != "" {
		j.conclude(solve.NoVerdict, "the base's own tests give no verdict: "+j.Base.NoVerdict)
		return nil
	}
	if err := j.layOut(ctx); errors.Is(err, tree.ErrPatch) {
		j.conclude(solve.Failed, "the patch does not apply to the base commit")
		return nil
	} else if err != nil {
		return err
	}
	if bad := j.moreThanTests(); bad != "" {
		j.conclude(solve.Failed, bad)
		return nil
	}
	first, err := j.runFresh(ctx, reproductionRun)
	red := j.red(first)
	if err != nil || len(red) == 0 {
		j.reproduced(first)
		return err
	}
	command := ""
	if len(compare(j.Base, first).broken) == 0 { // else all run again: they may have failed by chance
		command, _ = selected(j.Test, j.testFiles(), red)
	}
	second, command, err := j.repeatOnly(ctx, reproductionRun, command, red)
	if command != "" {
		all := maps.Clone(first.Tests)
		maps.Copy(all, second.Tests)
		second.Tests = all
	}
	if second.NoVerdict == "" {
		second = first.join(second)
	}
	j.verdict.ProofCommand = command
	j.reproduced(second)
	return err
}

var reproductionRun = kind{title: "the reproducer's tests on the base's code", tests: true}

// moreThanTests says why a patch is no reproducer's, "" if it is one.
func (j *judging) moreThanTests() string {
	switch source, steering, gone := len(j.source()), len(j.verdict.Restored), len(deleted(j.Changes)); {
	case source > 0:
		return "a reproducer may only write tests, and it changes " + count(source, "other file", "other files")
	case steering > 0:
		return "a reproducer may only write tests, and it changes " + count(steering, "file that steers tests", "files that steer tests")
	case gone > 0:
		return "a reproducer may only add tests, and it deletes " + count(gone, "test file", "test files")
	}
	return ""
}

// red lists the tests that the base does not have, and that ran and failed; sorted.
func (j *judging) red(now Report) []string {
	return slices.DeleteFunc(compare(j.Base, now).newFail, func(name string) bool {
		marked := strings.HasSuffix(name, markBuild) || strings.HasSuffix(name, markPackage) || strings.HasSuffix(name, markCollect)
		// Runners report a file that cannot be loaded as a test with its name.
		return marked || slices.ContainsFunc(j.Changes, func(c solve.FileChange) bool { return strings.HasSuffix(name, path.Base(c.Path)) })
	})
}

// reproduced concludes with the runs of the reproducer's tests on the base, joined. What differs between them counts nothing.
func (j *judging) reproduced(now Report) {
	var unsteady []string
	for name, is := range now.Tests {
		if is == Flaky {
			unsteady = append(unsteady, name)
		}
	}
	d, red := compare(j.Base.without(unsteady), now), j.red(now)
	d.fill(&j.verdict)
	j.verdict.Counts = now.Counts
	unloaded := slices.ContainsFunc(d.newFail, func(name string) bool { return strings.HasSuffix(name, markCollect) })
	switch n := len(red); {
	case now.NoVerdict != "":
		j.conclude(solve.NoVerdict, "with the reproducer's tests, "+now.NoVerdict)
	case len(d.builds) > 0:
		j.conclude(solve.Failed, "the reproducer's tests do not build on the base: "+count(len(d.builds), "package", "packages"))
	case len(d.broken) > 0:
		j.conclude(solve.Failed, "with the reproducer's tests, "+count(len(d.broken), "test fails or is gone", "tests fail or are gone")+
			" that passed on the base")
	case unloaded || n == 0 && len(d.newFail) > 0:
		j.conclude(solve.Failed, "the reproducer's tests cannot be loaded on the base, so they do not show the issue")
	case n == 0:
		j.conclude(solve.Failed, "no new test fails on the base each time, so none shows the issue")
	case n > shown:
		j.conclude(solve.Failed, fmt.Sprintf("the reproducer brings %d failing tests, more than %d", n, shown))
	default:
		j.verdict.Proofs, j.verdict.ProofTests = n, red
		j.conclude(solve.Passed, "brings "+count(n, "new test that fails", "new tests that fail")+" on the base")
	}
}
