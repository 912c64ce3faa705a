package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// errLost says that the program went without a word.
var errLost = fmt.Errorf("%w with the sandbox's processes", agent.ErrProgramLost)

const (
	soonest = 100 * time.Millisecond // between two looks
	latest  = 2 * time.Second
	quiet   = 5 * time.Second // without news: nothing is to be expected soon
	failing = 5 * time.Minute // how long a program may try a model that fails
	tries   = 5               // a tree that is being changed may be unreadable for a moment, and a look may fail
)

// watch is the rhythm of a follower.
type watch struct {
	began              time.Time
	wait               time.Duration
	collected, alive   time.Time
	badTrees, badLooks int  // one after the other
	dirty              bool // calls were made since the tree was compared
}

// follow looks at the program until it ends, meets a limit, or is not ours any more.
func (r *run) follow(ctx context.Context) agent.Result {
	now := time.Now()
	r.watch = watch{began: now, wait: soonest, collected: now, alive: now, dirty: r.begun}
	for ctx.Err() == nil {
		before := time.Now()
		s, err := r.look(ctx, r.watch.wait)
		if err != nil {
			if r.watch.badLooks++; r.watch.badLooks < tries { // the program works on meanwhile
				r.pace(ctx, before, quiet/tries)
				continue
			}
			return r.fail(ctx, err)
		}
		r.watch.badLooks = 0
		if err := r.take(ctx, s); err != nil {
			return r.fail(ctx, err)
		}
		if s.ended {
			return r.finish(ctx, s.code)
		}
		if res, ok := r.limit(s); ok {
			return r.stop(ctx, res)
		}
		if err := r.living(ctx, s); err != nil {
			return r.fail(ctx, err)
		}
		r.pace(ctx, before, soonest)
	}
	return r.interrupted(ctx)
}

// take books what a look saw.
func (r *run) take(ctx context.Context, s sight) error {
	news := s.printed != r.rec.Printed
	r.rec.Printed = s.printed
	if n := r.rec.Job.Gateway.Usage().Calls; n != r.calls {
		r.calls, r.watch.dirty, news = n, true, true
	}
	edits := r.rec.Progress.Edits
	if err := r.edits(ctx); err != nil {
		return err
	}
	if r.agent.program.Collect == nil {
		if err := r.print(ctx, s); err != nil {
			return err
		}
	} else if news || time.Since(r.watch.collected) >= r.agent.quiet {
		r.watch.collected = time.Now()
		if err := r.collect(ctx); errors.Is(err, agent.ErrSave) {
			return err
		} // else it is being written just now, and the next time tells
	}
	if edits != r.rec.Progress.Edits || time.Since(r.rec.Progress.At) >= r.agent.quiet && r.rec.Printed != r.rec.Progress.Output {
		if err := r.rec.Save(ctx, nil); err != nil {
			return err
		}
	}
	r.tempo(news)
	return nil
}

// edits compares the tree after calls.
func (r *run) edits(ctx context.Context) error {
	if !r.watch.dirty {
		return nil
	}
	err := r.rec.CheckTree(ctx)
	switch {
	case err == nil:
		r.watch.dirty, r.watch.badTrees = false, 0
	case ctx.Err() == nil:
		if r.watch.badTrees++; r.watch.badTrees < tries {
			return nil
		}
	}
	return err
}

// tempo sets how long the next look may wait: short while things happen.
func (r *run) tempo(news bool) {
	w := &r.watch
	switch {
	case news && time.Since(w.began) < quiet:
		w.wait = soonest
	case news:
		w.wait = min(w.wait, latest/4)
	default:
		w.wait = min(w.wait*3/2, latest)
	}
}

// pace keeps a time between looks that do not wait by themselves: the program can make
// them return at once.
func (r *run) pace(ctx context.Context, before time.Time, least time.Duration) {
	left := least - time.Since(before)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// limit is the one place where limits are looked at. The door holds steps and money.
func (r *run) limit(s sight) (agent.Result, bool) {
	if most := r.rec.Job.Limits.RunTime; most > 0 && s.started > 0 && time.Duration(s.now-s.started)*time.Second >= most {
		return agent.TimeExceeded(), true
	}
	return r.rec.LimitReached(r.agent.patience, failing)
}

// tooMuch says that so many bytes are more than the run may print.
func (r *run) tooMuch(bytes int64) bool {
	most := r.rec.Job.Limits.RunOutput
	return most > 0 && bytes > most
}

// living finds out now and then whether anything runs at all.
func (r *run) living(ctx context.Context, s sight) error {
	if time.Since(r.watch.alive) < r.agent.alive && !(s.started == 0 && time.Since(r.watch.began) > quiet) {
		return nil
	}
	running, err := r.launcher.Launched(ctx)
	if err != nil {
		return fmt.Errorf("look for the program: %w", err)
	}
	r.watch.alive = time.Now()
	if running {
		return nil
	}
	// It may have ended in between, as it should.
	if s, err = r.look(ctx, 0); err == nil && !s.ended {
		err = errLost
	}
	return err
}
