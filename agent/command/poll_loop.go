package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/clock"
)

// errLost says that the program is gone without an exit status.
var errLost = fmt.Errorf("%w with the sandbox's processes", agent.ErrProgramLost)

const (
	soonest = 100 * time.Millisecond // between two polls
	latest  = 2 * time.Second
	quiet   = 5 * time.Second // without news: nothing is to be expected soon
	failing = 5 * time.Minute // how long a program may try a model that fails
	tries   = 5               // polls and reads of the tree that may fail in a row: the program may be changing the tree
)

// timing is when the program was and will be polled.
type timing struct {
	began              time.Time
	wait               time.Duration
	collected, alive   time.Time
	badTrees, badPolls int  // one after the other
	dirty              bool // calls were made since the tree was compared
}

// pollLoop polls the program until it ends, reaches a limit, or belongs to another owner.
func (r *run) pollLoop(ctx context.Context) agent.Result {
	now := time.Now()
	r.timing = timing{began: now, wait: soonest, collected: now, alive: now, dirty: r.begun}
	for ctx.Err() == nil {
		before := time.Now()
		s, err := r.poll(ctx, r.timing.wait)
		if err != nil {
			if r.timing.badPolls++; r.timing.badPolls < tries { // the program works on meanwhile
				r.pause(ctx, before, quiet/tries)
				continue
			}
			return r.fail(ctx, err)
		}
		r.timing.badPolls = 0
		if err := r.record(ctx, s); err != nil {
			return r.fail(ctx, err)
		}
		if s.ended {
			return r.finish(ctx, s.code)
		}
		if res, ok := r.limit(s); ok {
			return r.stop(ctx, res)
		}
		if err := r.checkAlive(ctx, s); err != nil {
			return r.fail(ctx, err)
		}
		r.pause(ctx, before, soonest)
	}
	return r.interrupted(ctx)
}

// record stores what a poll saw.
func (r *run) record(ctx context.Context, s status) error {
	news := s.printed != r.rec.Printed
	r.rec.Printed = s.printed
	if n := r.rec.Job.Gateway.Usage().Calls; n != r.calls {
		r.calls, r.timing.dirty, news = n, true, true
	}
	edits := r.rec.Progress.Edits
	if err := r.countEdits(ctx); err != nil {
		return err
	}
	if r.agent.program.Collect == nil {
		if err := r.storeOutput(ctx, s); err != nil {
			return err
		}
	} else if news || time.Since(r.timing.collected) >= r.agent.quiet {
		r.timing.collected = time.Now()
		if err := r.collect(ctx); errors.Is(err, agent.ErrSave) {
			return err
		} // else it is being written just now, and the next time tells
	}
	if edits != r.rec.Progress.Edits || time.Since(r.rec.Progress.At) >= r.agent.quiet && r.rec.Printed != r.rec.Progress.Output {
		if err := r.rec.Save(ctx, nil); err != nil {
			return err
		}
	}
	r.setInterval(news)
	return nil
}

// countEdits compares the tree after calls.
func (r *run) countEdits(ctx context.Context) error {
	if !r.timing.dirty {
		return nil
	}
	err := r.rec.CheckTree(ctx)
	switch {
	case err == nil:
		r.timing.dirty, r.timing.badTrees = false, 0
	case ctx.Err() == nil:
		if r.timing.badTrees++; r.timing.badTrees < tries {
			return nil
		}
	}
	return err
}

// setInterval sets how long the next poll may wait: short while things happen.
func (r *run) setInterval(news bool) {
	w := &r.timing
	switch {
	case news && time.Since(w.began) < quiet:
		w.wait = soonest
	case news:
		w.wait = min(w.wait, latest/4)
	default:
		w.wait = min(w.wait*3/2, latest)
	}
}

// pause keeps a time between polls that do not wait by themselves: the program can make
// them return at once.
func (r *run) pause(ctx context.Context, before time.Time, least time.Duration) {
	if left := least - time.Since(before); left > 0 {
		_ = clock.Sleep(ctx, left) // the loop sees that ctx ended
	}
}

// limit checks the limits of the run, except steps and money, which the gateway session checks.
func (r *run) limit(s status) (agent.Result, bool) {
	if most := r.rec.Job.Limits.RunTime; most > 0 && s.started > 0 && time.Duration(s.now-s.started)*time.Second >= most {
		return agent.TimeExceeded(), true
	}
	return r.rec.LimitReached(r.agent.patience, failing)
}

// overOutputLimit says that so many bytes are more than the run may print.
func (r *run) overOutputLimit(bytes int64) bool {
	most := r.rec.Job.Limits.RunOutput
	return most > 0 && bytes > most
}

// checkAlive checks now and then whether anything runs at all.
func (r *run) checkAlive(ctx context.Context, s status) error {
	if time.Since(r.timing.alive) < r.agent.alive && !(s.started == 0 && time.Since(r.timing.began) > quiet) {
		return nil
	}
	running, err := r.launcher.Launched(ctx)
	if err != nil {
		return fmt.Errorf("look for the program: %w", err)
	}
	r.timing.alive = time.Now()
	if running {
		return nil
	}
	// It may have ended since the last poll.
	if s, err = r.poll(ctx, 0); err == nil && !s.ended {
		err = errLost
	}
	return err
}
