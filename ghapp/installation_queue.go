package ghapp

import (
	"context"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// lane is one installation's serial line of writes.
type installationQueue struct {
	installation int64
	limiter      *rateLimiter
	busy         bool          // a goroutine drains it
	heard        chan struct{} // somebody waits for our reaction
}

func newQueue(installation int64, p *rateLimiter) *installationQueue {
	return &installationQueue{installation: installation, limiter: p, heard: make(chan struct{}, 1)}
}

// wake ends the present wait of a lane that is busy if a reaction is due.
func (l *installationQueue) wake(due []solve.Effect) {
	if !slices.ContainsFunc(due, isReaction) {
		return
	}
	select {
	case l.heard <- struct{}{}:
	default:
	}
}

// pause waits, but not for longer than until a reaction is due; false means that
// ctx ended first.
func (l *installationQueue) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-l.heard:
	case <-t.C:
	}
	return true
}

func isReaction(e solve.Effect) bool { return e.Kind == solve.EffectReact }

// hear writes the reactions that are due while another write waits for its turn:
// people readGrants within moments that they were heard.
func (w *Writer) writeReactions(ctx context.Context, l *installationQueue) {
	for ctx.Err() == nil {
		due, err := w.store.DueEffects(ctx, w.app.now())
		if err != nil {
			return // the loop of Run logs it
		}
		mine := slices.DeleteFunc(byInstallation(due)[l.installation], func(e solve.Effect) bool { return !isReaction(e) })
		e, ok := w.choose(ctx, l, mine)
		if !ok || l.limiter.ready(w.app.now(), classReaction).After(w.app.now()) {
			return
		}
		w.write(ctx, l, e)
	}
}
