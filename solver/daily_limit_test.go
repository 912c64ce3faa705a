package solver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
	"github.com/yudai-dev/yudai/test/require"
)

// at is a time as people are told it.
func at(t time.Time) string {
	return t.UTC().Add(time.Minute - 1).Truncate(time.Minute).Format("2006-01-02 15:04 UTC")
}

// refusedFor checks a refusal and returns its text.
func (w *world) refusedFor(id solve.ID, words ...string) {
	w.Helper()
	s := w.final(id, solve.StateFailed)
	if !s.Refused || s.Denied || !s.Started.IsZero() {
		w.Errorf("solve %+v", s)
	}
	for _, word := range words {
		if !strings.Contains(s.Reason, word) {
			w.Errorf("the reason is %q, without %q", s.Reason, word)
		}
	}
	if n := w.hub.count("clone"); n > 0 && len(w.runs(id)) > 0 {
		w.Error("a run was made")
	}
}

// TestSolvesADay: each scope has its bound, which names itself and when there is room
// again; then there is.
func TestSolvesADay(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	other := func(id, inst int64) func(*solve.Solve) {
		return func(s *solve.Solve) { s.Repo.ID, s.Repo.Installation = id, inst }
	}
	for name, c := range map[string]struct {
		daily   budget.Daily
		free    func(*solve.Solve) // is not concerned; nil if all are
		subject string
	}{
		"repository":   {budget.Daily{Repository: budget.Day{Solves: 2}}, other(8, 1), "This repository"},
		"installation": {budget.Daily{Installation: budget.Day{Solves: 2}}, other(7, 2), "This installation of the App"},
		"process":      {budget.Daily{Process: budget.Day{Solves: 2}}, nil, "This yudai"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Daily = c.daily
				w.writer()
				p := w.start("a")
				first := w.final(w.ask(), solve.StateSolved)
				w.hub.set(func(h *hub) { h.write = false })
				w.final(w.ask(), solve.StateFailed) // who may not ask takes nobody's place
				w.hub.set(func(h *hub) { h.write = true })
				<-time.After(2 * time.Minute)
				w.final(w.ask(), solve.StateSolved)
				room := first.Started.Add(24 * time.Hour)
				w.refusedFor(w.ask(), c.subject+" has started 2 solves in the last 24 hours", "solver.daily."+name+".solves", "There is room again at "+at(room)+".")
				if c.free != nil {
					w.final(w.ask(c.free), solve.StateSolved)
				}
				w.must(p.stop()) // a day of ticks takes long even in fake time
				<-time.After(time.Until(room) - 10*time.Second)
				w.start("b")
				w.refusedFor(w.ask(), at(room))
				<-time.After(time.Until(room))
				w.final(w.ask(), solve.StateSolved)
				w.refusedFor(w.ask(), c.subject)
			})
		})
	}
}

// TestMoneyADay: a solve gets what the day leaves, what a live one may still spend is
// taken, and who finds nothing left is refused.
func TestMoneyADay(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Daily.Repository = budget.Day{USD: 0.25}
		w.cfg.Limits.SolveUSD, w.cfg.Limits.RunUSD = 0.20, 1
		w.play("dear", slices.Concat(many(1, dear(call, "write good")), many(60, dear(call, "sleep 1s")))...)
		w.play("cheap", dear(call, "write good"))
		w.writer()
		w.start("a")
		first := w.ask(with("cheap"))
		s := w.final(first, solve.StateSolved)
		if s.Plan.Limits.SolveMoney != 20*call || len(s.Plan.Notes) != 0 {
			t.Errorf("limits %+v, notes %q", s.Plan.Limits, s.Plan.Notes)
		}
		paid := spent(w.runs(first))
		rest := 25*call - paid

		whole := w.ask(with("dear"))
		w.runState(whole, solve.RunWorking)
		if got := w.solve(whole).Plan.Limits.SolveMoney; got != min(20*call, rest) {
			t.Errorf("the second may spend %s", got)
		}
		narrow := w.ask(with("dear")) // the second may still spend its 20 cents
		w.runState(narrow, solve.RunWorking)
		s = w.solve(narrow)
		if want := rest - 20*call; s.Plan.Limits.SolveMoney != want || len(s.Plan.Notes) != 1 || !strings.Contains(s.Plan.Notes[0], "solver.daily.repository.usd") {
			t.Errorf("the third may spend %s, want %s; notes %q", s.Plan.Limits.SolveMoney, want, s.Plan.Notes)
		}
		room := w.solve(first).Started.Add(24 * time.Hour)
		w.refusedFor(w.ask(with("cheap")), "spent or reserved $0.25", "solver.daily.repository.usd allows $0.25", at(room))
		w.final(w.ask(with("cheap"), in(9, "other")), solve.StateSolved)
		w.final(whole, solve.StateSolved)
		w.final(narrow, solve.StateSolved)
		if sum := spent(w.runs(narrow)); sum > w.solve(narrow).Plan.Limits.SolveMoney+call {
			t.Errorf("the third spent %s", sum)
		}
	})
}

// TestLastPlaceIsTakenOnce: of many that are planned at once, as many start as the day has room for.
func TestLastPlaceIsTakenOnce(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Daily.Process = budget.Day{Solves: 3}
		w.writer()
		var ids []solve.ID
		for i := range 12 {
			ids = append(ids, w.ask(in(int64(20+i), fmt.Sprint("repo", i))))
		}
		p := w.process("a")
		p.store.on(func(_ string, c solve.Change) error {
			if _, ok := c.Event.(solve.Claimed); ok {
				<-time.After(time.Second) // between the look and the claim
			}
			return nil
		}, nil)
		p.run()
		solved := 0
		for _, id := range ids {
			w.await(time.Hour, "the end", func() bool { return w.solve(id).State.Final() })
			if w.solve(id).State == solve.StateSolved {
				solved++
			}
		}
		if solved != 3 {
			t.Errorf("%d solves were started, the day has room for 3", solved)
		}
	})
}

// TestRoomIsKnownAfterARestart: the store knows what was spent, not the process.
func TestRoomIsKnownAfterARestart(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Daily.Repository = budget.Day{Solves: 1}
		w.writer()
		p := w.start("a")
		w.final(w.ask(), solve.StateSolved)
		w.must(p.stop())
		w.start("b")
		w.refusedFor(w.ask(), "This repository has started 1 solve in")
	})
}

// TestRepositoryLowersItsDay: the repository's own file can, and the refusal names it.
func TestRepositoryLowersItsDay(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Daily.Repository = budget.Day{Solves: 5}
		w.hub.set(func(h *hub) { h.config = "limits: {solves_per_day: 1}" })
		w.writer()
		w.start("a")
		w.final(w.ask(), solve.StateSolved)
		w.refusedFor(w.ask(), "has started 1 solve in the last 24 hours, the most that limits.solves_per_day of .github/yudai.yml allows")
		w.hub.set(func(h *hub) { h.config = "limits: {solves_per_day: 6}" })
		w.refusedFor(w.ask(), "limits.solves_per_day: is 6, but the operator allows at most 5")
	})
}
