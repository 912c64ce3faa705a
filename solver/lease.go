package solver

import (
	"context"
	"errors"
	"fmt"
	"time"

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
			return fmt.Errorf("renew lease of node %s: %w", e.node, errors.Join(solve.ErrLeaseLost, failed))
		case <-ticker.C:
		}
		now := time.Now()
		beat, cancel := context.WithDeadline(ctx, confirmed.Add(patience))
		failed = e.store.Heartbeat(beat, e.node, e.cfg.LeaseTime)
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
			e.log.Warn().Err(failed).Msg("lease not renewed")
		}
	}
}

// Leased says until when this process may work; the past if it does not work, or
// has to stop.
func (e *Engine) Leased() time.Time { return time.Unix(0, e.leased.Load()) }
