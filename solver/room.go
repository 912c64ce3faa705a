package solver

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// roomPatience is how long a sandbox waits for a provider that has no room. That is
// nobody's fault here, so it costs no attempt as long as it lasts.
const roomPatience = 10 * time.Minute

// longestRoom is the longest pause between two looks.
const longestRoom = 30 * time.Second

// room opens a sandbox, and waits where the provider has no room now: not longer than
// the patience, and not beyond until, if that is set.
func room(ctx context.Context, d sandbox.Driver, spec sandbox.Spec, until time.Time) (sandbox.Sandbox, error) {
	end := time.Now().Add(roomPatience)
	if !until.IsZero() && until.Before(end) {
		end = until
	}
	for wait := firstHold; ; wait = min(2*wait, longestRoom) {
		sb, err := d.Open(ctx, spec)
		if err == nil || ctx.Err() != nil || !errors.Is(err, sandbox.ErrCapacity) || time.Now().Add(wait).After(end) {
			return sb, err
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str("sandbox_id", spec.Name).Dur("duration", wait).Msg("sandbox waits for room")
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// until is when a sandbox of the phase is of no use any more: a solve whose time is over
// begins no work, but what was made is still judged.
func until(s solve.Solve, phase string) time.Time {
	if phase == phaseJudge {
		return time.Time{}
	}
	return s.Deadline
}
