package ghapp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// doubleCheck is an effect that was made again because it was not found, and has to be
// looked for once more: GitHub's lists may have lagged longer than they should.
type doubleCheck struct {
	key   string
	check int64 // the check run that a pull request's effect made
	due   time.Time
	tries int
}

// maxDoubleChecks bounds the tries to look for a double.
const maxDoubleChecks = 5

// checkLater looks for a double when lists had as much time again. It is kept in
// memory only: what it guards against takes a lost answer and a late list already.
func (w *Writer) checkLater(t *writeTry, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubleChecks = append(w.doubleChecks, doubleCheck{key: t.e.Key, check: t.made, due: now.Add(w.cfg.ListLag)})
}

// startDoubleChecks looks at what is due, each in its installation's line.
func (w *Writer) startDoubleChecks(ctx context.Context, writing *sync.WaitGroup) {
	now := w.app.now()
	w.mu.Lock()
	var due, rest []doubleCheck
	for _, d := range w.doubleChecks {
		if now.Before(d.due) {
			rest = append(rest, d)
		} else {
			due = append(due, d)
		}
	}
	w.doubleChecks = rest
	w.mu.Unlock()
	for _, d := range due {
		writing.Go(func() {
			again, err := w.verify(ctx, d)
			if err != nil {
				again = d.tries < maxDoubleChecks
				w.log(ctx, solve.Effect{Key: d.key}).Warn().Str(logkey.Error, Redact(err.Error())).Msg("double not looked for")
				d.tries++
			}
			if again && ctx.Err() == nil {
				d.due = w.app.now().Add(tick)
				w.mu.Lock()
				w.doubleChecks = append(w.doubleChecks, d)
				w.mu.Unlock()
			}
		})
	}
}

// verify removes the doubles of what the effect's receipt names. again says that the
// effect is being written now.
func (w *Writer) verify(ctx context.Context, d doubleCheck) (again bool, err error) {
	e, err := w.store.Effect(ctx, d.key)
	if err != nil {
		return false, fmt.Errorf("read effect: %w", err)
	}
	q := w.queue(e.Repo.Installation)
	if e.State == solve.EffectDead {
		return false, nil
	}
	now := w.app.now()
	if e.State == solve.EffectSending || now.Before(w.app.PausedUntil(q.installation)) || !q.writing.TryLock() {
		return true, nil
	}
	defer q.writing.Unlock()
	t := &writeTry{w: w, queue: q, e: e, doubleChecking: true}
	t.until = now.Add(t.leaseTime())
	if t.view, err = w.view(ctx, e); err != nil {
		return false, err
	}
	switch e.Kind {
	case solve.EffectReply, solve.EffectNotice, solve.EffectFinal:
		return false, t.singleComment().removeDoubles(ctx, e.Receipt.ID)
	case solve.EffectCheck, solve.EffectRun:
		return false, t.singleCheck(t.checkRun(e.Receipt.SHA)).removeDoubles(ctx, e.Receipt.ID)
	case solve.EffectPull:
		return false, t.singleCheck(t.scorecardRun(e.Receipt)).removeDoubles(ctx, d.check)
	default:
		return false, nil
	}
}
