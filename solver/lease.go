package solver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// renew keeps the node's lease, confirmed at that time. When it cannot be
// confirmed again for three quarters of its length, because the store fails or
// does not answer, every worker is stopped before anybody else may take over.
func (e *Engine) renew(ctx, work context.Context, stop context.CancelCauseFunc, confirmed time.Time) error {
	patience := e.cfg.LeaseTime * 3 / 4
	guard := time.AfterFunc(time.Until(confirmed.Add(patience)), func() { stop(fault.ErrStopping) })
	defer guard.Stop()
	ticker := time.NewTicker(e.cfg.LeaseTime / 4)
	defer ticker.Stop()
	var failed error
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-work.Done():
			return fmt.Errorf("renew lease of node %s: %w", e.Node, errors.Join(solve.ErrLeaseLost, failed))
		case <-ticker.C:
		}
		now := time.Now()
		beat, cancel := context.WithDeadline(ctx, confirmed.Add(patience))
		failed = e.Store.Heartbeat(beat, e.Node, now, e.cfg.LeaseTime)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case failed == nil && guard.Stop():
			confirmed = now
			e.leased.Store(now.Add(e.cfg.LeaseTime).UnixNano())
			guard.Reset(time.Until(confirmed.Add(patience)))
		case errors.Is(failed, solve.ErrLeaseLost):
			stop(fault.ErrStopping)
		case failed != nil:
			e.Log.Warn().Err(failed).Msg("lease not renewed")
		}
	}
}

// Leased says until when this process may work; the past if it does not work, or
// has to stop.
func (e *Engine) Leased() time.Time { return time.Unix(0, e.leased.Load()) }

// apply writes a change under the lease. A store that fails is asked again for as
// long as this process has its lease, because nobody else ends what this node
// owns: on a full disk the lease can be renewed, in pages that are free, while a
// larger record finds no room. ctx may have ended: what is known is written all the same.
func (e *Engine) apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	for wait := pause; ; wait = min(2*wait, 8*pause) {
		c.At = time.Now()
		write, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*e.cfg.LeaseTime)
		s, r, err := e.Store.Apply(write, c)
		cancel()
		if err == nil || fault.Decided(err) || fault.Stopping(ctx) {
			return s, r, err
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.Event, string(solve.NameOf(c.Event))).Msg("change not stored yet")
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.halted:
			timer.Stop()
			return s, r, err
		}
	}
}
