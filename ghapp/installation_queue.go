package ghapp

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// installationQueue writes the effects of one installation, one at a time.
type installationQueue struct {
	installation int64
	limiter      *rateLimiter
	writing      sync.Mutex    // held by the goroutine that writes
	reactionDue  chan struct{} // wakes the one that waits
}

func newQueue(installation int64, limiter *rateLimiter) *installationQueue {
	return &installationQueue{installation: installation, limiter: limiter, reactionDue: make(chan struct{}, 1)}
}

// wake ends the present wait of a busy queue if a reaction is due.
func (q *installationQueue) wake(due []solve.Effect) {
	if !slices.ContainsFunc(due, isReaction) {
		return
	}
	select {
	case q.reactionDue <- struct{}{}:
	default:
	}
}

// pause waits until a reaction is due, at most for d; false means that ctx ended first.
func (q *installationQueue) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-q.reactionDue:
	case <-time.After(d):
	}
	return true
}

// isReaction leaves those out that tell people without rights: they wait.
func isReaction(e solve.Effect) bool {
	return e.Kind == solve.EffectReact && e.Priority < solve.PriorityDenied
}

// drain writes one effect after the other until none can be written. It reads the
// store before each, so that what became more urgent meanwhile goes first.
func (w *Writer) drain(ctx context.Context, q *installationQueue) {
	for ctx.Err() == nil {
		e, ok := w.nextDue(ctx, q, nil)
		if !ok {
			return
		}
		now := w.app.now()
		if wait := q.limiter.earliest(now, classOf(e)).Sub(now); wait > 0 {
			if !q.pause(ctx, min(wait, tick)) {
				return
			}
			continue
		}
		w.write(ctx, q, e)
	}
}

// writeReactions writes the reactions that are due while another write waits for
// its turn: people see within moments that yudai noticed them.
func (w *Writer) writeReactions(ctx context.Context, q *installationQueue) {
	for ctx.Err() == nil {
		e, ok := w.nextDue(ctx, q, isReaction)
		if !ok || q.limiter.earliest(w.app.now(), classReaction).After(w.app.now()) {
			return
		}
		w.write(ctx, q, e)
	}
}

// nextDue reads the store for the next effect of the queue that can be written;
// wanted, if given, restricts the choice.
func (w *Writer) nextDue(ctx context.Context, q *installationQueue, wanted func(solve.Effect) bool) (solve.Effect, bool) {
	due, err := w.store.DueEffects(ctx)
	if err != nil {
		return solve.Effect{}, false // the loop of Run logs it
	}
	mine := slices.DeleteFunc(due, func(e solve.Effect) bool {
		return e.Repo.Installation != q.installation || wanted != nil && !wanted(e)
	})
	return w.nextEffect(ctx, q, mine)
}
