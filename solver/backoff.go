package solver

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// outsidePatience is how long a solve waits for a GitHub that does not answer, limits
// us, or has suspended us. It is stored as it was all the while, and a cancel or
// its own deadline ends it sooner.
const outsidePatience = 24 * time.Hour

// The pauses between two tries, where GitHub does not name one.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// authTries is how often a git server may refuse a token that was made for this
// very fetch. Mostly it means a limit: git does not tell the two apart.
const authTries = 8

// commitTries is how often the champion's commit may fail to be made on this machine.
const commitTries = 8

// slot is one of the solves that a process works on at a time.
type slot struct {
	slots chan struct{}
	taken bool
}

// takeSlot takes a slot if one is free.
func (e *Engine) takeSlot() (*slot, bool) {
	select {
	case e.slots <- struct{}{}:
		return &slot{e.slots, true}, true
	default:
		return nil, false
	}
}

func (s *slot) release() {
	if s.taken {
		<-s.slots
		s.taken = false
	}
}

// backOff waits without the slot, so that a solve that cannot go on stands in
// nobody's way. It ends early with ctx.
func (s *slot) backOff(ctx context.Context, d time.Duration) {
	s.release()
	if clock.Sleep(ctx, d) != nil {
		return
	}
	select {
	case <-ctx.Done():
	case s.slots <- struct{}{}:
		s.taken = true
	}
}

// tries are the failures of one state of a solve.
type tries struct {
	state solve.State
	first time.Time
	n     int
	last  error // other than that the time was over
}

// cause is what to tell people when the last try ended with err.
func (t *tries) cause(err error) error {
	if t.last != nil && errors.Is(err, context.DeadlineExceeded) {
		return t.last
	}
	return err
}

// after says how long to wait before the step is tried again; false ends the
// solve. What may pass outside is tried again for long, as nothing but time helps.
// What fails on this machine while the base is being prepared is tried as often as a run.
func (t *tries) after(ctx context.Context, s solve.Solve, err error, attempts int) (time.Duration, bool) {
	now := time.Now()
	if t.state != s.State || t.n == 0 {
		*t = tries{state: s.State, first: now}
	}
	t.n++
	if !errors.Is(err, context.DeadlineExceeded) {
		t.last = err
	}
	var no fault.Refusal
	var outside fault.Outside
	limited := !s.Deadline.IsZero() && s.State != solve.StatePublishing // the champion is paid for
	over := limited && !now.Before(s.Deadline)
	if ctx.Err() != nil || over || errors.As(err, &no) || fault.Decided(err) {
		return 0, false
	}
	wait := min(firstPause<<min(t.n-1, 10), longestPause)
	switch {
	case errors.As(err, &outside):
		wait = max(wait, fault.RetryAfter(err))
		if !fault.Temporary(err) || now.Add(wait).After(t.first.Add(outsidePatience)) {
			return 0, false
		}
	case s.State == solve.StatePublishing:
		return wait, t.n < commitTries
	case s.State != solve.StatePreparing, t.n >= attempts && !errors.Is(err, git.ErrAuth), t.n >= authTries:
		return 0, false
	}
	if limited {
		wait = min(wait, s.Deadline.Sub(now))
	}
	zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.State, string(s.State)).Dur(logkey.Duration, wait).Msg("solve waits")
	return wait, true
}
