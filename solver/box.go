package solver

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// Names of sandboxes and bases are made from the solve, so that the next owner
// finds them without having been told.
func agentsName(id solve.ID) string  { return "y-" + string(id) + "-agents" }
func installName(id solve.ID) string { return "y-" + string(id) + "-install" }
func baseName(id solve.ID) string    { return "y-" + string(id) + "-base" }
func runName(r solve.Run) string     { return fmt.Sprintf("y-%s-%d-%d", r.Solve, r.N, r.Attempt) }
func judgeName(r solve.Run) string   { return runName(r) + "-judge" }

// layerNames are those of what a base may stand on, and its own, the last one first.
func layerNames(id solve.ID) []string { return []string{baseName(id), installName(id), agentsName(id)} }

// lifetime is how long a provider keeps a sandbox in which the parts are done: for ever, 0, if one has no limit.
func lifetime(parts ...time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range parts {
		if d == 0 {
			return 0
		}
		sum += d
	}
	return sum
}

// thaw removes the solve's bases whatever happened to ctx, best effort: the sweep does the rest.
func (e *Engine) thaw(ctx context.Context, s solve.Solve) {
	d, known := e.Drivers.Of(s.Plan.Sandbox)
	forker, ok := d.(sandbox.Forker)
	if !known || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, name := range layerNames(s.ID) {
		if err := thawSoon(ctx, forker, name); err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Str("sandbox_id", name).Msg("base not removed, it will be swept")
		}
	}
}

// thawSoon tries for two seconds: a run's end is stored before its sandbox is
// closed, so the last one may still stand on the base.
func thawSoon(ctx context.Context, forker sandbox.Forker, name string) error {
	const tries, pause = 20, 100 * time.Millisecond
	for i := 1; ; i++ {
		err := forker.Thaw(ctx, name)
		if err == nil || i == tries {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// closeSandbox closes whatever happened to ctx.
func closeSandbox(ctx context.Context, sb sandbox.Sandbox) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := sb.Close(ctx); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Str("sandbox_id", sb.Name()).Msg("sandbox not closed, it will be swept")
	}
}
