// Package replay judges candidates of a decided solve again, on a base that is made anew from
// the repository, and compares the results test by test with those that the solve stored.
package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/xid"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// World is where candidates are judged.
type World struct {
	// Repository is an absolute path or an address without credentials; it has the base commit.
	Repository string
	Git        *git.Cache
	Drivers    sandboxes.Drivers
	// InstallEnv are variables of the install command, and CloneDepth how many commits of history the sandbox sees.
	InstallEnv map[string]string
	CloneDepth int
}

// Solve is a decided solve as its bundle has it.
type Solve struct {
	Record solve.Record
	// File is a file of the bundle by its name; false if there is none.
	File func(name string) ([]byte, bool)
}

// replaying is one replay.
type replaying struct {
	World
	from     Solve
	solve    solve.Solve // that of the record, under a name of its own
	store    files
	preparer *prepare.Preparer
	base     judge.Report // of the base's tests here
	was      judge.Report // of the base's tests then
	used     *sandboxes.Recorder
}

// Judge makes the base again and judges the [Solve.Candidates] on it. An error says why the solve cannot be judged
// again here.
func (w World) Judge(ctx context.Context, from Solve) ([]Outcome, error) {
	candidates := from.Candidates()
	if len(candidates) == 0 || from.Champion() != 0 && from.Champion() != candidates[0].N {
		return nil, errors.New("it does not hold the results of the champion's tests: nobody was judged, they are too many, or it is old")
	}
	r := &replaying{World: w, from: from, store: files{}, used: sandboxes.NewRecorder(nil)}
	r.plan()
	r.preparer = prepare.New(r.store, clone{w.Repository}, w.Git, w.Drivers, nil, prepare.Options{
		Parallel: 1, CloneDepth: w.CloneDepth, InstallEnv: w.InstallEnv,
	})
	defer sandboxes.DeleteBases(ctx, w.Drivers, r.solve)
	if err := r.makeBase(ctx); err != nil {
		return nil, err
	}
	var out []Outcome
	for _, run := range candidates {
		o, err := r.judge(ctx, run)
		if err != nil {
			return nil, fmt.Errorf("judge run %d: %w", run.N, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// plan takes from the solve what its judging needs: no agent is installed, the default driver opens all
// sandboxes, and no time has passed.
func (r *replaying) plan() {
	s := r.from.Record.Solve
	s.ID, s.Deadline, s.Base.Image = solve.ID(xid.New().String()), time.Time{}, ""
	s.Plan.Experiments, s.Plan.Sandbox = nil, ""
	r.solve = s
}

// makeBase installs and tests the base. Its tests must come out as they did then: else something
// differs here that no candidate is the reason of.
func (r *replaying) makeBase(ctx context.Context) (err error) {
	data, ok := r.from.File(prepare.BaseReport)
	if !ok {
		return errors.New("the bundle has no report of the base's tests")
	}
	if r.was, err = judge.DecodeReport(data); err != nil {
		return err
	}
	if r.solve.Base, err = r.preparer.Prepare(ctx, r.solve); err != nil {
		return fmt.Errorf("prepare the base: %w", err)
	}
	if r.base, err = judge.DecodeReport(r.store[prepare.BaseReport]); err != nil {
		return err
	}
	differ := judge.Differences(r.was.Tests, r.base.Tests)
	exits := r.was.Counts.Flaky == 0 && (r.was.Counts.Exit == 0) != (r.base.Counts.Exit == 0)
	if len(differ) == 0 && !exits {
		return nil
	}
	why := fmt.Sprintf("the test command exits with %d, and did with %d", r.base.Counts.Exit, r.was.Counts.Exit)
	if len(differ) > 0 {
		why = "tests have other results: " + Words(differ)
	}
	return fmt.Errorf("already on the base, without any candidate, %s", why)
}

// judge judges the candidate of a run as it was judged then.
func (r *replaying) judge(ctx context.Context, run solve.Run) (Outcome, error) {
	text, _ := r.from.File(run.Candidate.Artifact)
	data, _ := r.from.File(run.Verdict.Results)
	was, err := judge.DecodeResults(data)
	if err != nil {
		return Outcome{}, err
	}
	changes, err := patch.Parse(text) // the record may be silent about a test that it changes
	if err != nil {
		return Outcome{}, err
	}
	res, err := judge.Judge(ctx, judge.Input{
		Patch: text, Changes: changes, Base: r.base, Open: r.open,
		Trial: judge.TrialOf(r.solve.SettingsOr(solve.Settings{}), r.solve.Base.Test),
	})
	if err != nil {
		return Outcome{}, err
	}
	unsteady := []judge.Report{r.was, r.base, res.Base}
	return compare(run, was, res, unsteady), nil
}

// open opens a clean copy of the base.
func (r *replaying) open(ctx context.Context) (sandbox.Sandbox, func(), error) {
	name := "y-" + string(r.solve.ID) + "-replay"
	sb, err := r.preparer.Open(ctx, r.solve, sandbox.Spec{
		Name: name, From: r.solve.Base.Image, Labels: map[string]string{"solve": string(r.solve.ID), "phase": sandboxes.PhaseJudge},
	}, r.used)
	if err != nil {
		return nil, nil, err
	}
	return sb, func() {
		sandboxes.Close(ctx, sb)
		r.used.Closed()
	}, nil
}
