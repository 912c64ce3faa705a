package sandboxes

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// closeTime bounds the removal of what is not needed any more.
const closeTime = 10 * time.Second

// Close closes a sandbox whatever happened to ctx.
func Close(ctx context.Context, sb sandbox.Sandbox) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := sb.Close(ctx); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.SandboxID, sb.Name()).Msg("sandbox not closed, it will be swept")
	}
}

// Discard removes a sandbox of the solve that may be there under that name.
func Discard(ctx context.Context, drivers Drivers, s solve.Solve, name string) {
	d, err := DriverOf(drivers, s)
	if err != nil {
		return
	}
	if sb, err := d.Attach(ctx, name); err == nil {
		Close(ctx, sb)
	}
}

// DeleteBases removes the solve's bases whatever happened to ctx, best effort: the sweep does the rest.
func DeleteBases(ctx context.Context, drivers Drivers, s solve.Solve) {
	d, known := drivers.Of(s.Plan.Sandbox)
	forker, ok := d.(sandbox.Forker)
	if !known || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	for _, name := range LayerNames(s.ID) {
		if err := deleteBase(ctx, forker, name); err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.SandboxID, name).Msg("base not removed, it will be swept")
		}
	}
}

// deleteBase tries for two seconds: a run's end is stored before its sandbox is
// closed, so the last one may still stand on the base.
func deleteBase(ctx context.Context, forker sandbox.Forker, name string) error {
	const tries, pause = 20, 100 * time.Millisecond
	for i := 1; ; i++ {
		err := forker.Thaw(ctx, name)
		if err == nil || i == tries || clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
}
