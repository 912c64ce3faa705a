package sandboxes

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// capacityPatience is how long a sandbox waits for a provider that has no capacity. That
	// is nobody's fault here, so it costs no attempt as long as it lasts.
	capacityPatience = 10 * time.Minute
	// Pauses between two tries.
	firstPause, longestPause = time.Second, 30 * time.Second
)

// Open opens a sandbox for the solve and records its usage. It waits while the provider has
// no capacity: not longer than the patience, and not longer than the solve can use it.
func (r *Recorder) Open(ctx context.Context, d sandbox.Driver, spec sandbox.Spec, s solve.Solve) (sandbox.Sandbox, error) {
	phase := spec.Labels["phase"]
	end := time.Now().Add(capacityPatience)
	// A solve whose time is over begins no work, but what was made is still judged.
	if phase != PhaseJudge && !s.Deadline.IsZero() && s.Deadline.Before(end) {
		end = s.Deadline
	}
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		sb, err := d.Open(ctx, spec)
		if err == nil {
			r.opened(d, sb, phase)
			return sb, nil
		}
		if ctx.Err() != nil || !errors.Is(err, sandbox.ErrCapacity) || time.Now().Add(wait).After(end) {
			return sb, err
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.SandboxID, spec.Name).Dur(logkey.Duration, wait).Msg("sandbox waits for capacity")
		if err := clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// Lifetime is how long a provider keeps a sandbox in which the parts are done: for ever, 0,
// if one has no limit.
func Lifetime(parts ...time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range parts {
		if d == 0 {
			return 0
		}
		sum += d
	}
	return sum
}
