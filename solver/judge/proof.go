package judge

import (
	"context"
	"slices"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

// prove finds out which tests of the candidate's own show its change: a third run has them on
// the base's code. A new or changed test that fails there and passes with the candidate is a
// proof, if it does so twice. One that cannot be built or loaded there is unready: it uses
// what the candidate adds, and says nothing about the bug. One that passes there says nothing.
//
// A test that fails on the base, and passes on the base's code with the candidate's version of
// the tests, is a weakened one.
//
// docs/decisions/0036-what-a-test-proves.md has the reasons.
func (j *judging) prove(ctx context.Context, now, own Report) error {
	turned, tests := j.turned(now, own), j.verdict.NewPass > 0 || bringsTests(j.Changes)
	if len(turned) == 0 && !tests {
		return nil
	}
	without := own // where the patch changes nothing else, this is the run on the base's code
	if len(j.source()) > 0 {
		var err error
		if without, err = j.withoutSource(ctx, own, turned); err != nil {
			return err
		}
		j.without = &without
	}
	j.weakenedBy(slices.DeleteFunc(turned, func(name string) bool { return without.Tests[name] != Pass }))
	if !tests {
		return nil
	}
	j.verdict.Unready = j.unready(own, without)
	proofs, err := j.confirmProofs(ctx, own, without)
	j.verdict.Proofs, j.verdict.ProofTests = len(proofs), first(proofs)
	return err
}

// confirmProofs lists the proofs, sorted: those of two runs with the candidate's code and two
// without, if [Trial.Tries] allows two.
func (j *judging) confirmProofs(ctx context.Context, own, without Report) ([]string, error) {
	proofs := j.proofs(own, without)
	if len(proofs) == 0 || j.Tries < 2 {
		return proofs, nil
	}
	command, _ := selected(j.Test, j.testFiles(), proofs)
	without, command, err := j.repeatOnly(ctx, withoutRun, command, proofs)
	if err != nil || len(j.proofs(own, without)) == 0 {
		return nil, err
	}
	again, command, err := j.repeatOnly(ctx, ownRun, command, proofs)
	if err != nil {
		return nil, err
	}
	if again.NoVerdict == "" {
		j.noteUnsteady(own, again, command != "")
	}
	j.verdict.ProofCommand = command
	confirmed := j.proofs(again, without)
	return slices.DeleteFunc(proofs, func(name string) bool { return !slices.Contains(confirmed, name) }), nil
}

// testFiles lists the files that belong to the candidate's tests and that it does not delete.
func (j *judging) testFiles() []string {
	var out []string
	for _, c := range j.Changes {
		if c.Op != "delete" && slices.Contains(j.own, c.Path) {
			out = append(out, c.Path)
		}
	}
	return out
}

// withoutSource runs the candidate's tests on the base's code. Where nothing but tests that the
// runner can be asked for belongs to them, these run alone, if all that are new are in the report. Not where they
// turned others: a test can load the file of another one.
func (j *judging) withoutSource(ctx context.Context, own Report, turned []string) (Report, error) {
	k := withoutRun
	if command, all := selected(j.Test, j.testFiles(), nil); all && len(turned) == 0 {
		k.command = command
		r, err := j.runFresh(ctx, k)
		if err != nil || j.hasNew(own, r) {
			return r, err
		}
		k.command = ""
	}
	return j.runFresh(ctx, k)
}

// hasNew reports whether a run of some tests has all tests that are new in own, and no others than own has.
func (j *judging) hasNew(own, some Report) bool {
	for name := range own.Tests {
		if _, is := some.Tests[name]; !is && j.Base.Tests[name] == "" {
			return false
		}
	}
	for name := range some.Tests {
		if own.Tests[name] == "" {
			return false
		}
	}
	return len(some.Tests) > 0
}

// repeatOnly repeats a run with the command that runs only these tests. If the report does not have
// all of them it repeats the whole run, and returns no command.
func (j *judging) repeatOnly(ctx context.Context, k kind, command string, tests []string) (Report, string, error) {
	if k.command = command; command != "" {
		r, err := j.repeat(ctx, k)
		if err != nil || !slices.ContainsFunc(tests, func(name string) bool { return r.Tests[name] == "" }) {
			return r, command, err
		}
		k.command = ""
	}
	r, err := j.repeat(ctx, k)
	return r, "", err
}

// proofs lists the tests that pass in own and fail in without. One that fails on the base, too,
// is none: it is fixed if the base's version of it passes.
func (j *judging) proofs(own, without Report) []string {
	var out []string
	for name, is := range own.Tests {
		if was := j.Base.Tests[name]; is == Pass && without.Tests[name] == Fail && was != Fail && was != Flaky {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// unready counts the new tests that pass in own and could not be built or loaded in without. Of
// changed tests no name tells which they are; one stands for all of them.
func (j *judging) unready(own, without Report) int {
	if !j.lostInBuild(own, without) {
		return 0
	}
	fresh, changed := 0, 0
	for name, is := range own.Tests {
		switch was := j.Base.Tests[name]; {
		case is != Pass || without.Tests[name] != "" || was == Flaky:
		case was == "" || was == Skip:
			fresh++
		default:
			changed = 1
		}
	}
	return max(fresh, changed)
}

// lostInBuild reports whether tests are missing in without because a package or file of them
// cannot be built or loaded there: the run reports no test at all, or the failure of something
// that is a test neither on the base nor with the candidate. Each runner has a name of its own for that.
func (j *judging) lostInBuild(own, without Report) bool {
	if without.NoVerdict != "" {
		exit := without.Counts.Exit
		return exit > 0 && exit != 126 && exit != 127 && without.Setting == "" && len(without.Tests) == 0
	}
	for name, is := range without.Tests {
		if is == Fail && own.Tests[name] == "" && j.Base.Tests[name] == "" {
			return true
		}
	}
	return false
}

// turned lists the tests that fail on the base and in the regression, and pass in own, sorted.
func (j *judging) turned(now, own Report) []string {
	var out []string
	for name, was := range j.Base.Tests {
		if was == Fail && now.Tests[name] != Pass && own.Tests[name] == Pass {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// weakenedBy adds to the weakened files those that make these tests pass.
func (j *judging) weakenedBy(names []string) {
	if len(names) == 0 {
		return
	}
	var gone Report
	for _, name := range names {
		gone.set(name, Fail)
	}
	files := slices.Concat(j.verdict.Weakens, weakens(j.Changes, j.own, gone, Report{}))
	slices.Sort(files)
	j.verdict.Weakens = slices.Compact(files)
}

// bringsTests reports whether the patch adds or changes a test file.
func bringsTests(changes []solve.FileChange) bool {
	return slices.ContainsFunc(changes, func(c solve.FileChange) bool { return c.Op != "delete" && patch.IsTestFile(c.Path) })
}
