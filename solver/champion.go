package solver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// reduce chooses. It is a function of the stored runs, so doing it twice is harmless.
func (e *Engine) reduce(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	runs, err := e.store.Runs(ctx, s.ID)
	if err != nil {
		return s, err
	}
	crossed, err := e.crosscheck.Test(ctx, s, runs)
	if err != nil {
		return s, fmt.Errorf("run the candidates' tests on each other: %w", err)
	}
	rule := s.RuleOr(e.cfg.settings())
	rule.Cross = crossed.Results
	d := solve.Decide(s, runs, rule)
	d.SandboxUses = crossed.SandboxUses
	c := solve.Change{Solve: s.ID, Token: s.Lease.Token, Event: solve.ChampionChosen{Decision: d}}
	if d.Champion == 0 {
		c.Event = solve.NoChampion{Decision: d}
		c.Reason = fmt.Sprintf("None of the %d experiments passed the tests.", len(solve.Candidates(runs)))
		if d.Withheld != 0 {
			c.Reason = "A candidate that is unproven is only told (solver.unproven is comment)."
		} else if !s.Deadline.IsZero() && !time.Now().Before(s.Deadline) {
			c.Event = solve.Expired{Decision: &d}
			c.Reason = fmt.Sprintf("The time budget of %s ended before a candidate passed the tests.", s.Deadline.Sub(s.Started))
		}
	}
	decided := s
	decided.Decision = &d
	if d.Champion != 0 {
		if err := e.storeCommit(ctx, decided, runs); err != nil { // publish tries again
			zerolog.Ctx(ctx).Warn().Err(err).Msg("champion's commit not stored yet")
		}
	}
	if err := e.sign(ctx, decided); err != nil {
		return s, err
	}
	s, _, err = e.store.Apply(ctx, c)
	if err == nil {
		sandboxes.DeleteBases(ctx, e.drivers, s) // all runs ended, nothing forks from the base any more
	}
	return s, err
}

// publishTick is how often the pull request's effect is read without a hint of the store.
const publishTick = 10 * time.Second

// publish waits until the pull request is written. The writing itself is an
// effect: it survives this process, and is never made twice. A cancel withdraws
// it while nobody has begun to write; after that the pull request is what there is.
func (e *Engine) publish(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	if err := e.ensureCommit(ctx, s); err != nil && ctx.Err() == nil {
		return s, err
	}
	// Only what was not signed with the choice. Its error is the end of ctx, which is looked at below.
	_ = e.sign(ctx, s)
	read, unwatch := context.WithCancel(context.WithoutCancel(ctx)) // reads go on after a cancel
	defer unwatch()
	hints, cancelled := e.store.Watch(read), ctx.Done()
	ticker := time.NewTicker(publishTick)
	defer ticker.Stop()
	for {
		f, err := e.store.Effect(read, string(s.ID)+"/"+string(solve.EffectPull))
		if err != nil {
			return s, err
		}
		switch f.State {
		case solve.EffectApplied:
			s, _, err = e.store.Apply(ctx, solve.Change{
				Solve: s.ID, Token: s.Lease.Token,
				Event: solve.Published{Pull: solve.Pull{Number: f.Receipt.Number, URL: f.Receipt.URL, Commit: f.Receipt.SHA}},
			})
			return s, err
		case solve.EffectDead:
			return s, fault.Refusef("The champion was chosen, but GitHub refused the pull request: %s", f.Error)
		}
		if ctx.Err() != nil {
			cancelled = nil
			if fault.Stopping(ctx) {
				return s, context.Cause(ctx)
			}
			gone, err := e.store.WithdrawEffect(read, f.Key, "cancelled")
			if gone || err != nil {
				return s, errors.Join(context.Cause(ctx), err)
			}
		}
		select {
		case <-ticker.C:
		case <-hints:
		case <-cancelled:
		}
	}
}

// storeCommit stores what the champion's commit contains: the files of its tree that
// differ from the base. They are made from the stored patch by plumbing on the host;
// nothing of it is run or checked out.
func (e *Engine) storeCommit(ctx context.Context, s solve.Solve, runs []solve.Run) error {
	c := runs[s.Decision.Champion-1].Candidate
	patch, err := e.store.Artifact(ctx, s.ID, c.Artifact)
	if err != nil {
		return err
	}
	m, err := e.preparer.Mirror(ctx, s)
	if err != nil {
		return err
	}
	r, err := result(ctx, m, s.Base.SHA, patch, c.Tree)
	if err != nil {
		return err
	}
	view := report.View{Solve: s, Runs: runs}
	commit := solve.Commit{Message: report.CommitMessage(view), BaseSHA: s.Base.SHA, Tree: r.Tree, Files: r.Files}
	if n := s.PublishesTests(runs); n != 0 {
		commit.Tests = &solve.TestsCommit{Message: report.TestsMessage(view)}
		if err := e.addTests(ctx, m, s, &commit, runs[n-1].Candidate, patch); err != nil {
			return err
		}
	}
	data, err := commit.Encode()
	if err != nil {
		return err
	}
	return e.store.PutArtifact(ctx, s.ID, solve.CommitArtifact, data)
}

// addTests puts the reproducer's tests into the champion's commit, and into one of their own. The two share no file: the
// champion brings no test, and the reproducer nothing else.
func (e *Engine) addTests(
	ctx context.Context, m *git.Mirror, s solve.Solve, commit *solve.Commit, from *solve.Candidate, champion []byte,
) error {
	tests, err := e.store.Artifact(ctx, s.ID, from.Artifact)
	if err != nil {
		return err
	}
	only, err := result(ctx, m, s.Base.SHA, tests, from.Tree)
	if err != nil {
		return err
	}
	both, err := result(ctx, m, s.Base.SHA, slices.Concat(champion, tests), "")
	commit.Tests.Files, commit.Tree, commit.Files = only.Files, both.Tree, both.Files
	return err
}

// result is what a patch makes of the base: the judged tree, where that is known.
func result(ctx context.Context, m *git.Mirror, base string, patch []byte, judged string) (git.Result, error) {
	r, err := m.Result(ctx, base, patch)
	if err == nil && judged != "" && r.Tree != judged {
		err = fmt.Errorf("it makes the tree %s, not %s, which was judged", r.Tree, judged)
	}
	if err != nil {
		err = fmt.Errorf("apply the champion's patch to %s: %w", base, err)
	}
	return r, err
}

// ensureCommit stores the champion's commit if that was not done with the choice: it
// failed then, or an older version chose.
func (e *Engine) ensureCommit(ctx context.Context, s solve.Solve) error {
	_, err := e.store.Artifact(ctx, s.ID, solve.CommitArtifact)
	if !errors.Is(err, solve.ErrNotFound) {
		return err
	}
	runs, err := e.store.Runs(ctx, s.ID)
	if err == nil {
		err = e.storeCommit(ctx, s, runs)
	}
	if err != nil {
		return fmt.Errorf("make the champion's commit: %w", err)
	}
	return nil
}

// Record exports a solve with all that is needed to recompute its decision.
func (e *Engine) Record(ctx context.Context, id solve.ID) (solve.Record, error) {
	s, err := e.store.Solve(ctx, id)
	if err != nil {
		return solve.Record{}, err
	}
	runs, err := e.store.Runs(ctx, id)
	if err != nil {
		return solve.Record{}, err
	}
	events, err := e.store.Events(ctx, id, 0)
	return solve.Record{V: solve.RecordVersion, Solve: s, Runs: runs, Events: events}, err
}
