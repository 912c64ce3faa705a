package solver

import (
	"context"
	"sync"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// sweep looks through all drivers at once: one that does not answer keeps nobody waiting.
func (e *Engine) sweep(ctx context.Context) {
	var all sync.WaitGroup
	for _, d := range e.drivers.All() {
		all.Go(func() { e.sweepOf(ctx, d) })
	}
	if e.gateway != nil {
		all.Go(func() { e.sweepGateway(ctx) })
	}
	all.Wait()
}

// sweepGateway removes what the gateway keeps for runs that are over, in the same order.
func (e *Engine) sweepGateway(ctx context.Context) {
	kept, err := e.gateway.Runs()
	if err != nil || len(kept) == 0 {
		fault.Log(ctx, err, "leftovers of the gateway not swept")
		return
	}
	wanted, err := e.wanted(ctx)
	if err != nil {
		fault.Log(ctx, err, "leftovers of the gateway not swept")
		return
	}
	for _, run := range kept {
		if !wanted[run] {
			fault.Log(ctx, e.gateway.Forget(run), "leftovers of the gateway not swept")
		}
	}
}

// sweepOf removes the sandboxes and bases that no living work owns. The driver
// lists first and asks afterwards; the store is read at the first question, so
// a sandbox opened after the listing is never in it, and one in the listing
// has its record already: names are stored, or follow from what is stored,
// before a sandbox is opened.
func (e *Engine) sweepOf(ctx context.Context, d sandbox.Driver) {
	wanted := sync.OnceValues(func() (map[string]bool, error) { return e.wanted(ctx) })
	if failpoint.Mutated(failpoint.SweepBeforeList) {
		wanted() //nolint:errcheck // its error is kept for the question
	}
	swept, err := d.Sweep(ctx, func(i sandbox.Info) bool {
		names, err := wanted()
		return err != nil || names[i.Name] // not knowing is no reason to kill
	})
	fault.Log(ctx, err, "leftover sandboxes not swept")
	for _, name := range swept {
		e.log.Info().Str(logkey.SandboxID, name).Msg("leftover sandbox removed")
	}
}

// wanted are the names that living solves and runs may use.
func (e *Engine) wanted(ctx context.Context) (map[string]bool, error) {
	live, err := e.store.LiveSolves(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	e.mu.Lock()
	for id := range e.reopened {
		for _, name := range append(sandboxes.LayerNames(id), sandboxes.CrossName(id)) {
			names[name] = true
		}
	}
	e.mu.Unlock()
	for _, s := range live {
		if s.State != solve.StatePreparing && s.State != solve.StateRunning && s.State != solve.StateReducing {
			continue
		}
		names[sandboxes.CrossName(s.ID)] = s.State == solve.StateReducing
		for _, name := range sandboxes.LayerNames(s.ID) {
			names[name] = true
		}
		runs, err := e.store.Runs(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if r.State.Active() {
				names[sandboxes.RunName(r)], names[sandboxes.JudgeName(r)] = true, true
			}
		}
	}
	return names, nil
}
