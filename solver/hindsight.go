package solver

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/crosscheck"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// lookBack lets one change of others that closed an issue judge the candidates that were made for it, while there is no solve: one
// that comes ends that, and it begins anew another time. The command stays in the store until it is done. All have turns, so that one
// that fails again and again does not hold up the others.
func (e *Engine) lookBack(ctx, work context.Context, live []solve.Solve) {
	e.mu.Lock()
	free := len(live)+len(e.reopened) == 0
	for _, t := range e.reopened {
		if len(live) > 0 {
			t.cancel(context.Canceled)
		}
	}
	e.mu.Unlock()
	if !free {
		return
	}
	list, err := e.store.Commands(ctx)
	list = slices.DeleteFunc(list, func(a solve.Command) bool { return a.Kind != solve.CommandHindsight })
	if err != nil || len(list) == 0 {
		return
	}
	next := slices.IndexFunc(list, func(a solve.Command) bool {
		return cmp.Or(a.At.Compare(e.lookedBack.At), cmp.Compare(a.ID, e.lookedBack.ID)) > 0
	})
	a := list[max(next, 0)]
	e.lookedBack = a
	s, err := e.store.LatestSolve(ctx, a.Repo.ID, a.Issue)
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		return
	}
	start(e, e.logOf(s.ID, a.Repo).WithContext(work), e.reopened, s.ID, nil, func(ctx context.Context) {
		err := e.learnInHindsight(ctx, a, s)
		fault.Log(ctx, err, "candidates not judged in hindsight")
		again := err != nil && fault.Temporary(err) && !errors.Is(err, context.DeadlineExceeded)
		if again && time.Since(a.At) < 24*time.Hour {
			_ = clock.Sleep(ctx, time.Minute) // its error is the end of ctx
		} else if ctx.Err() == nil {
			fault.Log(ctx, e.store.Answer(ctx, a.ID, nil), "command not answered")
		}
	})
}

// learnInHindsight has the track record count what the tests of a merged pull request say of the candidates of a solve.
func (e *Engine) learnInHindsight(ctx context.Context, a solve.Command, s solve.Solve) error {
	if !e.cfg.Record || s.Pull != nil && s.Pull.Number == a.N {
		return nil
	}
	runs, err := e.store.Runs(ctx, s.ID)
	if err != nil || len(solve.HindsightPairs(runs, s.SettingsOr(e.cfg.settings()).CrossRuns)) == 0 {
		return err
	}
	pull, err := e.hub.Pull(ctx, a.Repo, a.N)
	if err != nil || !pull.Merged || pull.Base != a.Repo.DefaultBranch {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, cmp.Or(s.Plan.Limits.SolveTime, 24*time.Hour))
	defer stop()
	s.Repo = a.Repo // as it is called now
	passes, err := e.testInHindsight(ctx, s, runs, pull)
	if errors.Is(err, git.ErrPatch) || err == nil && len(passes) == 0 {
		return nil // the base is too old for it, or it tells nothing
	}
	if err != nil {
		return err
	}
	return e.store.Learn(ctx, s.ID, solve.Fate{Tests: passes})
}

// testInHindsight runs the tests of a merged pull request on the candidates of a solve. The solve's artifacts, of which a bundle
// was signed, do not change.
func (e *Engine) testInHindsight(ctx context.Context, s solve.Solve, runs []solve.Run, pull solve.PullNow) (map[int]bool, error) {
	s.Deadline, s.Base.Image, s.Plan.Experiments = time.Time{}, "", nil
	notes := aside{e.store, map[string][]byte{}}
	p := e.preparer.Aside(notes)
	change, err := p.Merged(ctx, s, pull.Commit, pull.SHA)
	if err != nil {
		return nil, err
	}
	defer sandboxes.DeleteBases(ctx, e.drivers, s)
	if s.Base, err = p.Prepare(ctx, s); err != nil {
		return nil, err
	}
	c := crosscheck.Checker{Store: notes, Bases: p, Drivers: e.drivers, Settings: e.cfg.settings()}
	return c.Hindsight(ctx, s, runs, change)
}

// aside has the artifacts of a store, and keeps new ones to itself. One goroutine uses it.
type aside struct {
	prepare.Store
	made map[string][]byte
}

func (a aside) PutArtifact(_ context.Context, _ solve.ID, name string, data []byte) error {
	a.made[name] = data
	return nil
}

func (a aside) Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error) {
	if data, ok := a.made[name]; ok {
		return data, nil
	}
	return a.Store.Artifact(ctx, id, name)
}
