package judge

import (
	"context"
	"errors"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/tree"
)

// CrossInput is a candidate, and the tests of another one.
type CrossInput struct {
	Input       // of the candidate that is tested
	AuthorPatch []byte
	Tests       []string // names of the author's tests that count
	Alone       bool     // only these run, with canaries; else the whole test command does
}

// Cross runs the author's tests on the other candidate's code, and says which of the named ones
// pass and which fail. One that does not compile or import there, or is skipped, stands in neither
// list. Where the canaries came out wrong or are missing, nothing stands in either: somebody's code lies, and nobody knows whose.
// They run once: that chance does not decide about them was seen when they became proofs.
// Of the author's files only tests go in, none that configure a runner. The bytes are the output.
// An error means that the sandbox failed.
func Cross(ctx context.Context, in CrossInput) (solve.CrossResult, []byte, error) {
	var out solve.CrossResult
	j := newJudging(in.Input)
	defer func() { j.closeIt() }()
	tests, err := patch.Only(in.AuthorPatch, func(p string) bool { return patch.IsTestFile(p) && !patch.IsTestConfig(p) })
	if err != nil {
		return out, nil, err
	}
	if in.Alone {
		if j.only, err = selectionOf(tests, in.Tests); err != nil {
			return out, nil, err
		}
	}
	r, err := j.cross(ctx, tests, kind{title: "another candidate's tests on this candidate's code"})
	if err != nil || j.lied != "" {
		return out, j.log.Bytes(), err
	}
	for _, name := range in.Tests {
		switch r.Tests[name] {
		case Pass:
			out.Passed = append(out.Passed, name)
		case Fail:
			out.Failed = append(out.Failed, name)
		}
	}
	return out, j.log.Bytes(), nil
}

// cross runs tests of another candidate in a fresh copy of the base. Without a verdict the
// report is empty: tests that cannot run here say nothing.
func (j *judging) cross(ctx context.Context, tests []byte, k kind) (Report, error) {
	if err := j.layOut(ctx); err != nil {
		return Report{}, err
	}
	err := tree.ApplyPatch(ctx, j.sb, tests)
	if errors.Is(err, tree.ErrPatch) { // a file of the same name is there as source
		return Report{}, nil
	}
	if err != nil {
		return Report{}, err
	}
	r, err := j.run(ctx, k)
	if err != nil || r.NoVerdict != "" || r.Canary == missing {
		return Report{}, err
	}
	return r, nil
}
