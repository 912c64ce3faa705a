package solver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// TestCLIAgentBesideUs: an agent that runs here and works on the sandbox from outside has
// its door on this machine. The sandbox has no way to the gateway, and needs none.
func TestCLIAgentBesideUs(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.lodge(5 * time.Second)
		l.needs.Inside = false
		w.driver.SetTraits(func(t *sandbox.Traits) { t.Socket = false }) // and there is no public address
		w.writer()
		w.start("a")
		id := w.ask(lodgers)
		w.final(id, solve.StateSolved)
		spec := w.driver.specs("work")[0]
		if !spec.Launch || spec.Network.Socket != "" || len(spec.Network.Allow) > 0 {
			w.Errorf("the sandbox was opened with %+v", spec)
		}
		if got := w.doors.where["y-"+string(id)+"-1-1"]; got != agent.AccessLoopback {
			w.Errorf("its door is %d", got)
		}
	})
}

// hand waits for the account of the run's door.
func (w *world) hand(id solve.ID) (a agent.Allowance) {
	w.Helper()
	w.await(time.Hour, "the door", func() bool {
		w.doors.mu.Lock()
		defer w.doors.mu.Unlock()
		a = w.doors.open["y-"+string(id)+"-1-1"]
		return a != nil
	})
	return a
}

// TestEndedCallReleasesWhatItHeld: of several calls under way, the one that ended gives its
// upper bound back and no other. A call that came to nothing is no step.
func TestEndedCallReleasesWhatItHeld(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.lodge(time.Minute)
		l.calls, w.cfg.Limits.SolveUSD = 0, 0.10
		w.writer()
		w.start("a")
		id := w.ask(lodgers)
		a := w.hand(id)
		w.must(errors.Join(a.Begin(w.Context(), 6*call), a.Begin(w.Context(), 4*call)))
		w.must(a.End(w.Context(), agent.Call{API: agent.APIChat, Worst: 4 * call, Status: 502}))
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if err := a.Begin(ctx, 5*call); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("a call that may overdraw did not wait: %v", err)
		}
		w.must(a.Begin(w.Context(), 4*call))
		for _, worst := range []solve.Money{6 * call, 4 * call} {
			w.must(a.End(w.Context(), agent.Call{API: agent.APIChat, Worst: worst, Usage: solve.Usage{Calls: 1, Cost: call}}))
		}
		if p := w.run1(id).Progress; p.Steps != 2 || p.Usage.Calls != 2 || p.Usage.Cost != 2*call {
			w.Errorf("progress %+v", p)
		}
		w.final(id, solve.StateSolved)
	})
}
