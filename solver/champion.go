package solver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/solve"
)

// reduce chooses. It is a function of the stored runs, so doing it twice is harmless.
func (e *Engine) reduce(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	runs, err := e.Store.Runs(ctx, s.ID)
	if err != nil {
		return s, err
	}
	d := solve.Decide(s, runs, e.rule(s))
	c := solve.Change{
		Solve: s.ID, Token: s.Lease.Token, Event: solve.EventChampion,
		Set: func(s *solve.Solve, _ *solve.Run) { s.Decision = &d },
	}
	if d.Champion == 0 {
		c.Event, c.Reason = solve.EventNoChampion, fmt.Sprintf("None of the %d experiments passed the tests.", len(runs))
		if !s.Deadline.IsZero() && !time.Now().Before(s.Deadline) {
			c.Event, c.Reason = solve.EventExpired, fmt.Sprintf("The time budget of %s ended before a candidate passed the tests.", s.Deadline.Sub(s.Started))
		}
	}
	s, _, err = e.apply(ctx, c)
	if err == nil {
		e.thaw(ctx, s) // all runs ended, nothing forks from the base any more
	}
	return s, err
}

// publish waits until the pull request is written. The writing itself is an
// effect: it survives this process, and is never made twice. A cancel withdraws
// it while nobody has begun to write; after that the pull request is what there is.
func (e *Engine) publish(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	read, unwatch := context.WithCancel(context.WithoutCancel(ctx)) // a cancel is looked at between two reads
	defer unwatch()
	hints := e.Store.Watch(read)
	ticker := time.NewTicker(tick / 4)
	defer ticker.Stop()
	for {
		f, err := e.Store.Effect(read, string(s.ID)+"/"+string(solve.EffectPull))
		if err != nil {
			return s, err
		}
		switch f.State {
		case solve.EffectApplied:
			s, _, err = e.apply(ctx, solve.Change{
				Solve: s.ID, Token: s.Lease.Token, Event: solve.EventPublished,
				Set: func(s *solve.Solve, _ *solve.Run) {
					s.Pull = &solve.Pull{Number: f.Receipt.Number, URL: f.Receipt.URL, Commit: f.Receipt.SHA}
				},
			})
			return s, err
		case solve.EffectDead:
			return s, refusef("The champion was chosen, but GitHub refused the pull request: %s", f.Error)
		}
		if ctx.Err() != nil {
			if stopping(ctx) {
				return s, context.Cause(ctx)
			}
			gone, err := e.Store.WithdrawEffect(read, f.Key, "cancelled", time.Now())
			if gone || err != nil {
				return s, errors.Join(context.Cause(ctx), err)
			}
		}
		select {
		case <-ticker.C:
		case <-hints:
		}
	}
}

// Champion returns what the pull request's commit is made of: the files of the
// champion's tree that differ from the base. Built from the stored patch by
// plumbing on the host; nothing of it is run or checked out.
func (e *Engine) Champion(ctx context.Context, s solve.Solve) (message string, changed []git.File, err error) {
	if s.Decision == nil || s.Decision.Champion == 0 {
		return "", nil, errors.New("the solve has no champion")
	}
	runs, err := e.Store.Runs(ctx, s.ID)
	if err != nil {
		return "", nil, err
	}
	c := runs[s.Decision.Champion-1].Candidate
	patch, err := e.Store.Artifact(ctx, s.ID, c.Artifact)
	if err != nil {
		return "", nil, err
	}
	m, err := e.mirror(ctx, s)
	if err != nil {
		return "", nil, err
	}
	tree, err := m.Apply(ctx, s.Base.SHA, patch)
	if err != nil {
		return "", nil, fmt.Errorf("apply the champion's patch to %s: %w", s.Base.SHA, err)
	}
	changed, err = m.Changes(ctx, s.Base.SHA, tree)
	return solve.CommitMessage(solve.View{Solve: s, Runs: runs}), changed, err
}

// Record exports a solve with all that is needed to recompute its decision.
func (e *Engine) Record(ctx context.Context, id solve.ID) (solve.Record, error) {
	s, err := e.Store.Solve(ctx, id)
	if err != nil {
		return solve.Record{}, err
	}
	runs, err := e.Store.Runs(ctx, id)
	if err != nil {
		return solve.Record{}, err
	}
	events, err := e.Store.Events(ctx, id, 0)
	return solve.Record{V: solve.RecordVersion, Solve: s, Runs: runs, Events: events}, err
}
