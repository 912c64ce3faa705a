package solver_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
)

// TestCallIsBookedInOneTransaction: a call of an agent is one writing of the store, which
// has its step, its tokens and its money together.
func TestCallIsBookedInOneTransaction(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.lodge(10 * time.Second)
		w.writer()
		p := w.process("a")
		var stored atomic.Int32
		p.store.on(nil, func(op string, c solve.Change) {
			if op != "step" {
				return
			}
			stored.Add(1)
			if r := w.run1(c.Solve).Progress; r.Steps != r.Usage.Calls || r.Usage.Cost != solve.Money(r.Steps)*call || r.Usage.Input != int64(5*r.Steps) {
				w.Errorf("half of a call is stored: %+v", r)
			}
		})
		p.run()
		w.final(w.ask(lodgers), solve.StateSolved)
		if got := int(stored.Load()); got != l.calls+1 { // and one for the program's own line
			w.Errorf("%d writings for %d calls", got, l.calls)
		}
	})
}

// TestEstimateIsMarked: what the gateway had to estimate is booked like every call, and the
// run and its record say what it is.
func TestEstimateIsMarked(t *testing.T) {
	bubble(t, func(w *world) {
		w.lodge(time.Minute)
		w.writer()
		w.start("a")
		id := w.ask(lodgers)
		a := w.hand(id)
		w.await(time.Hour, "the calls", func() bool { return w.run1(id).Progress.Usage.Calls == 3 })
		at := time.Now()
		w.must(a.Begin(w.Context(), call))
		w.must(a.End(w.Context(), agent.Call{
			At: at, API: agent.APIChat, Worst: call, Usage: solve.Usage{Calls: 1, Cost: call}, Estimated: true, Request: []byte(`{}`),
		}))
		if p := w.run1(id).Progress; p.Steps != 4 || p.Usage.Cost != 4*call || p.Usage.Estimated != 1 {
			w.Errorf("progress %+v", p)
		}
		data, err := w.store.Artifact(w.Context(), id, "run-1-call-"+at.UTC().Format("20060102-150405.000000000")+".json")
		if err != nil || !strings.Contains(string(data), `"estimated": true`) {
			w.Errorf("%s, %v", data, err)
		}
		w.final(id, solve.StateSolved)
	})
}

// TestFailingModelServerIsStored: while a call of a model is tried again, the run says why; then no more.
func TestFailingModelServerIsStored(t *testing.T) {
	const why = "model good: the provider cannot be reached; check base_url; try 1 of 8 failed, the next is in 4s"
	bubble(t, func(w *world) {
		w.models.failing = why
		w.writer()
		w.start("a")
		id := w.ask()
		w.await(time.Hour, "the failure", func() bool { return len(w.runs(id)) > 0 && w.run1(id).Progress.Waiting == why })
		if p := w.run1(id).Progress; p.Steps != 0 {
			w.Errorf("a call that failed is a step: %+v", p)
		}
		w.models.mu.Lock()
		w.models.failing = ""
		w.models.mu.Unlock()
		w.final(id, solve.StateSolved)
		if p := w.run1(id).Progress; p.Waiting != "" || !strings.HasPrefix(p.Last, "$ ") {
			w.Errorf("after the end: waits %q, did %q", p.Waiting, p.Last)
		}
	})
}

// TestFailingModelServerOfAProgram: the same of calls through the gateway.
func TestFailingModelServerOfAProgram(t *testing.T) {
	bubble(t, func(w *world) {
		w.lodge(time.Minute)
		w.writer()
		w.start("a")
		id := w.ask(lodgers)
		a := w.hand(id)
		w.await(time.Hour, "the calls", func() bool { return w.run1(id).Progress.Usage.Calls == 3 })
		for _, err := range []error{model.NotPassed("good", 503, "down"), nil} {
			w.must(a.Begin(w.Context(), call))
			w.must(a.End(w.Context(), agent.Call{At: time.Now(), API: agent.APIChat, Worst: call, Err: err}))
			if p := w.run1(id).Progress; (p.Waiting == "model good: down") != (err != nil) {
				w.Errorf("after a call with %v it waits %q", err, p.Waiting)
			}
		}
		w.final(id, solve.StateSolved)
	})
}

// TestMoneyADayOfAnInstallation: it is one for all its repositories, and no other's.
func TestMoneyADayOfAnInstallation(t *testing.T) {
	for name, daily := range map[string]budget.Daily{
		"installation": {Installation: budget.Day{USD: 0.05}}, "process": {Process: budget.Day{USD: 0.05}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Daily, w.cfg.Limits.SolveUSD, w.cfg.Limits.RunUSD = daily, 0.20, 1
				w.play("dear", append(many(1, dear(call, "write good")), many(60, dear(call, "sleep 1s"))...)...)
				w.writer()
				w.start("a")
				s := w.final(w.ask(with("dear")), solve.StateSolved)
				if sum := spent(w.runs(s.ID)); s.Plan.Limits.SolveMoney != 5*call || sum != 5*call {
					w.Errorf("spent %s of %s", sum, s.Plan.Limits.SolveMoney)
				}
				w.refusedFor(w.ask(with("dear"), in(8, "other")), "spent or reserved $0.05", "solver.daily."+name+".usd allows $0.05", at(s.Started.Add(24*time.Hour)))
				if elsewhere := func(s *solve.Solve) { s.Repo.ID, s.Repo.Installation = 9, 2 }; name == "installation" {
					w.final(w.ask(with("dear"), elsewhere), solve.StateSolved)
				}
			})
		})
	}
}
