package judge

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/tree"
)

// Trial is how tests are run, and how often a failing run is repeated.
type Trial struct {
	Test solve.TestCommand
	// Timeout and MaxOutput (bytes) bound each run of the tests; 0 is no timeout, and 64 MiB.
	Timeout   time.Duration
	MaxOutput int64
	// Tries is the most runs of tests that fail; 0 is 1.
	// docs/decisions/0008-flaky-tests.md has the reasons.
	Tries int

	place *CanaryPlace // of the canaries; nil is none
	near  []string     // files beside whose tests canaries are put, too
	only  *selection   // what runs of the tests; nil is all
}

// TrialOf is how tests are run under settings.
func TrialOf(t solve.Settings, test solve.TestCommand) Trial {
	return Trial{Test: test, Timeout: t.TestTime, MaxOutput: t.Output, Tries: t.Tries}
}

// RunBase runs the base's own tests in the sandbox and ignores what they leave in its work
// tree. If one fails, it looks again until Tries is reached or no test has failed each time: at
// the tests that failed, where the runner can be asked for them, else at all. Where these do
// anything else than before, all tests run again, and only runs of all tests count. A test whose
// result differs between them is [Flaky]. The bytes are the output of all runs. An error means
// that the sandbox failed. docs/decisions/0062-what-is-looked-at-twice.md has the reasons.
func RunBase(ctx context.Context, sb sandbox.Sandbox, t Trial) (Report, []byte, error) {
	var log bytes.Buffer
	all, err := t.tryCanaries(ctx, sb, &log, "the base's tests, run 1")
	err = ignoreLeftovers(ctx, sb, all, err)
	if err != nil || t.Tries < 2 || !all.canFailAgain() {
		return all, log.Bytes(), err
	}
	failed, err := t.selectFailed(ctx, sb, all)
	for n := 2; err == nil && n <= t.Tries && all.canFailAgain(); n++ {
		var r Report
		if failed != nil {
			t.only = failed
			r, err = t.runBase(ctx, sb, &log, fmt.Sprintf("the base's tests that failed, run %d", n))
			if err != nil || all.repeatedBy(r) {
				continue
			}
			if r.NoVerdict == "" { // chance, or the tests before them: see decision 62
				t.Tries++
			}
			t.only, failed = nil, nil
		}
		r, err = t.runBase(ctx, sb, &log, fmt.Sprintf("the base's tests, run %d", n))
		switch {
		case err != nil || r.NoVerdict != "": // a repeat without a verdict changes nothing
		case all.Runs == 0 && all.Canaries != nil && !maps.Equal(all.Tests, r.Tests):
			chance := false
			if all, chance, err = t.withoutCanaries(ctx, sb, &log, all, r); !chance {
				n = 1
			}
		default:
			all = all.join(r)
		}
	}
	return all, log.Bytes(), err
}

// withoutCanaries decides where the first run, with canaries, differs from the second, without: by a third, with canaries. What
// they do, they do each time; then the second run counts alone. Else it is chance, and all three count.
func (t Trial) withoutCanaries(ctx context.Context, sb sandbox.Sandbox, log *bytes.Buffer, first, second Report) (
	_ Report, chance bool, _ error,
) {
	t.place = first.Canaries
	again, err := t.runBase(ctx, sb, log, "the base's tests, once more")
	if again.Canary == right && again.NoVerdict == "" && !maps.Equal(first.Tests, again.Tests) {
		return first.join(second).join(again), true, err
	}
	return second, false, err
}

// runBase makes one run of the base's tests, of which nothing stays in the work tree.
func (t Trial) runBase(ctx context.Context, sb sandbox.Sandbox, log *bytes.Buffer, title string) (Report, error) {
	r, err := t.run(ctx, sb, log, title)
	return r, ignoreLeftovers(ctx, sb, r, err)
}

// ignoreLeftovers lets git ignore what a run of tests with a verdict left.
func ignoreLeftovers(ctx context.Context, sb sandbox.Sandbox, r Report, err error) error {
	if err == nil && r.NoVerdict == "" {
		err = tree.IgnoreLeftovers(ctx, sb)
	}
	return err
}

// canFailAgain reports whether a repeat may show another result.
func (r Report) canFailAgain() bool {
	return r.NoVerdict == "" && (r.Counts.Failed > 0 || r.Counts.Exit != 0)
}

// repeatedBy reports whether a run of some tests has all that failed in r, and each with the result that it has there.
func (r Report) repeatedBy(some Report) bool {
	if some.NoVerdict != "" || (some.Counts.Exit == 0) != (r.Counts.Exit == 0) {
		return false
	}
	for name, s := range some.Tests {
		if r.Tests[name] != s {
			return false
		}
	}
	return some.Counts.Failed == r.Counts.Failed
}

// run makes one run and puts its output into the log.
func (t Trial) run(ctx context.Context, sb sandbox.Sandbox, log *bytes.Buffer, title string) (Report, error) {
	fmt.Fprintf(log, "==> %s: %s\n", title, t.command(nil))
	if t.place != nil {
		fmt.Fprintln(log, "==> with tests of the judge's own, of which one passes and one fails")
	}
	r, text, err := t.RunTests(ctx, sb)
	log.Write(text)
	fmt.Fprintf(log, "\n==> exit code %d\n", r.Counts.Exit)
	return r, err
}

// join combines r with another run on the same tree. A test whose results differ, or that only
// one of them has, is Flaky. A command that succeeded once has succeeded.
func (r Report) join(other Report) Report {
	out := Report{Counts: r.Counts, Runs: max(r.Runs, 1) + max(other.Runs, 1), Canaries: r.Canaries, Extra: r.Extra || other.Extra}
	for name, s := range r.Tests {
		if other.Tests[name] != s {
			s = Flaky
		}
		out.set(name, s)
	}
	for name := range other.Tests {
		if _, known := r.Tests[name]; !known {
			out.set(name, Flaky)
		}
	}
	if len(out.Tests) > 0 {
		out.count()
		if out.Counts.Passed+out.Counts.Failed == 0 && out.Counts.Flaky > 0 {
			out.NoVerdict = "no test has the same result in every run"
		}
	} else if (r.Counts.Exit == 0) != (other.Counts.Exit == 0) {
		out.Counts.Flaky = 1
	}
	if other.Counts.Exit == 0 {
		out.Counts.Exit = 0
	}
	return out
}

// set gives a test its status.
func (r *Report) set(name string, s Status) {
	if r.Tests == nil {
		r.Tests = map[string]Status{}
	}
	r.Tests[name] = s
}

// without is r as if it did not have these tests.
func (r Report) without(names []string) Report {
	out := Report{Counts: r.Counts}
	for name, s := range r.Tests {
		if !slices.Contains(names, name) {
			out.set(name, s)
		}
	}
	return out
}

// against lists the tests of a run that speak against the candidate; none if the code does not
// build, because a build does not fail by chance.
func (k kind) against(base, now Report) []string {
	d := compare(base, now)
	if len(d.builds) > 0 {
		return nil
	}
	bad := slices.Clone(d.newFail)
	for _, name := range d.broken {
		if !k.tests || now.Tests[name] == Fail {
			bad = append(bad, name)
		}
	}
	return bad
}

// onlyExit reports whether nothing but the exit code speaks against the candidate.
func onlyExit(base, now Report) bool {
	return now.Counts.Exit != 0 && base.Counts.Exit == 0 && now.Counts.Failed == 0 && !now.Empty
}

// confirm repeats a run that would fail the candidate. A test that does not fail each time is
// flaky and ignored from then on. If the base ran only once, it runs again at the end: the
// candidate did not cause what fails there.
func (j *judging) confirm(ctx context.Context, k kind, now Report) (Report, error) {
	for n := 1; n < j.Tries && (len(k.against(j.Base, now)) > 0 || onlyExit(j.Base, now)); n++ {
		again, err := j.repeat(ctx, k)
		if err != nil {
			return now, err
		}
		if again.NoVerdict != "" {
			break // the first result stands
		}
		j.noteUnsteady(now, again, false)
		j.leaveOut(slices.DeleteFunc(k.against(j.Base, now), func(name string) bool {
			is := again.Tests[name]
			return is == Fail || is != Pass && j.Base.Tests[name] == Pass // skipped or gone is broken, too
		}))
		if again.Counts.Exit == 0 {
			now.Counts.Exit = 0
		}
	}
	if len(k.against(j.Base, now)) == 0 {
		return now, nil
	}
	return now, j.rerunBase(ctx)
}

// rerunBase runs the base's tests once more, unless they ran twice before. The new result
// shows which of them are flaky.
func (j *judging) rerunBase(ctx context.Context) error {
	if j.Base.Runs > 1 || j.Tries < 2 {
		return nil
	}
	r, err := j.runFresh(ctx, controlRun)
	if err == nil && r.NoVerdict == "" {
		j.learned, j.Base = j.learned.join(r), j.Base.join(r)
	}
	return err
}

// leaveOut makes tests flaky for the rest of this verdict.
func (j *judging) leaveOut(names []string) {
	tests := maps.Clone(j.Base.Tests)
	for _, name := range names {
		tests[name] = Flaky
	}
	j.Base.Tests = tests
}

// noteUnsteady notes the tests of the base whose results differ between two tries with the
// candidate. If only some tests ran in the other one, those that did not are no different.
func (j *judging) noteUnsteady(one, other Report, some bool) {
	for name, was := range j.learned.Tests {
		is, ran := other.Tests[name]
		if was != Flaky && one.Tests[name] != is && (ran || !some) {
			j.unsteady[name] = true
		}
	}
}

// countUnsteady counts the tests that have one result in at least two runs of the base, and
// several with the candidate. They are no reason to fail it, because chance can do that, too.
func (j *judging) countUnsteady(ctx context.Context) error {
	if len(j.unsteady) == 0 {
		return nil
	}
	if err := j.rerunBase(ctx); err != nil || j.learned.Runs < 2 {
		return err
	}
	for name := range j.unsteady {
		if s := j.learned.Tests[name]; s == Pass || s == Fail || name == "" && j.learned.Counts.Flaky == 0 {
			j.verdict.Unsteady++
		}
	}
	return nil
}
