package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Clock is the clock of an engine under test. Make a new one for each engine.
type Clock struct {
	now *time.Time // of the world that the engine is in; nil before there is one
}

// Now is the engine's time.
func (c *Clock) Now() time.Time {
	if c.now == nil {
		return time.Now()
	}
	return *c.now
}

// world is a store with a clock and short ways to the states a promise begins in.
type world struct {
	testing.TB
	s   Store
	ctx context.Context
	now time.Time
	n   int // solves made
}

func newWorld(t testing.TB, s Store, clock *Clock) *world {
	w := &world{TB: t, s: s, ctx: context.Background(), now: clock.Now().UTC().Truncate(time.Second)}
	clock.now = &w.now
	return w
}

// ok ends the check if an operation failed.
func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("unexpected error: %v", err)
	}
}

// is ends the check unless the error is the wanted one.
func (w *world) is(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error is %v, want %v", err, want)
	}
}

func (w *world) tick() time.Time {
	w.now = w.now.Add(time.Second)
	return w.now
}

// node makes a node that lives for an hour.
func (w *world) node(name string) string {
	w.Helper()
	w.ok(w.s.Heartbeat(w.ctx, name, time.Hour))
	return name
}

func repo(n int64) solve.Repo {
	return solve.Repo{Installation: 1, ID: n, Owner: "owner", Name: fmt.Sprintf("repo%d", n), DefaultBranch: "main"}
}

// wish is a solve as a handler makes it; every call names another issue.
func (w *world) wish(r solve.Repo) solve.Solve {
	w.n++
	at := w.tick()
	return solve.Solve{
		ID: solve.ID(fmt.Sprintf("solve%04d", w.n)), Repo: r,
		Issue:   solve.Issue{Number: w.n, Title: "title", Body: "body", Author: "author"},
		Trigger: solve.Trigger{Kind: solve.TriggerLabel, Key: fmt.Sprintf("key%d", w.n), Actor: "actor", At: at},
		Created: at,
	}
}

// queued makes a solve.
func (w *world) queued(r solve.Repo) solve.Solve {
	w.Helper()
	s, created, err := w.s.Create(w.ctx, w.wish(r))
	w.ok(err)
	if !created {
		w.Fatalf("solve %s was not created", s.ID)
	}
	return s
}

// running makes a solve with n queued runs that nobody owns. It needs a store
// in which no other solve can be claimed.
func (w *world) running(r solve.Repo, n int, set func(*solve.Solve)) solve.Solve {
	w.Helper()
	made := w.queued(r)
	w.ok(w.s.Heartbeat(w.ctx, "maker", 24*time.Hour))
	c, err := w.s.ClaimSolve(w.ctx, "maker")
	w.ok(err)
	if c.ID != made.ID {
		w.Fatalf("claimed %s, want %s", c.ID, made.ID)
	}
	w.plan(c, solve.Plan{Experiments: make([]solve.Experiment, n)}, set)
	list := make([]solve.Run, n)
	for i := range list {
		list[i].N = i + 1
	}
	s, _, err := w.s.Apply(w.ctx, solve.Change{Solve: c.ID, Token: c.Lease.Token, Event: solve.BaseReady{Runs: list}})
	w.ok(err)
	return s
}

// plan claims a solve; set may change the plan, and say the deadline.
func (w *world) plan(c solve.Solve, p solve.Plan, set func(*solve.Solve)) {
	w.Helper()
	draft := solve.Solve{Plan: p}
	if set != nil {
		set(&draft)
	}
	if !draft.Deadline.IsZero() {
		draft.Plan.Limits.SolveTime = draft.Deadline.Sub(w.now)
	}
	w.apply(solve.Change{Solve: c.ID, Token: c.Lease.Token, Event: solve.Claimed{Plan: draft.Plan, Base: draft.Base}})
}

func (w *world) admit(node string, caps solve.Caps) []solve.Run {
	w.Helper()
	list, err := w.s.Admit(w.ctx, node, caps)
	w.ok(err)
	return list
}

// apply does a change that must succeed.
func (w *world) apply(c solve.Change) (solve.Solve, solve.Run) {
	w.Helper()
	s, r, err := w.s.Apply(w.ctx, c)
	w.ok(err)
	return s, r
}

// refused does a change that must fail with the error and change nothing.
func (w *world) refused(c solve.Change, want error) {
	w.Helper()
	before := w.dump(c.Solve)
	_, _, err := w.s.Apply(w.ctx, c)
	w.is(err, want)
	w.same(before, w.dump(c.Solve))
}

// step moves a run by its owner.
func (w *world) step(r solve.Run, ev solve.Event) solve.Run {
	w.Helper()
	_, after := w.apply(solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: ev})
	return after
}

// passed is the shortest verdict that lets a run win.
var passed = solve.Verdict{Outcome: solve.Passed, Fixed: 1}

// pass takes a dispatched run to its end.
func (w *world) pass(r solve.Run) solve.Run {
	w.Helper()
	for _, ev := range []solve.Event{solve.Started{}, solve.AgentEnded{}, solve.Harvested{}, solve.Judged{Verdict: passed}} {
		r = w.step(r, ev)
	}
	return r
}

func (w *world) solve(id solve.ID) solve.Solve {
	w.Helper()
	s, err := w.s.Solve(w.ctx, id)
	w.ok(err)
	return s
}

func (w *world) run(id solve.ID, n int) solve.Run {
	w.Helper()
	r, err := w.s.Run(w.ctx, id, n)
	w.ok(err)
	return r
}

func (w *world) events(id solve.ID) []solve.Entry {
	w.Helper()
	list, err := w.s.Events(w.ctx, id, 0)
	w.ok(err)
	return list
}

// state fails unless the solve is in the state.
func (w *world) state(id solve.ID, want solve.State) {
	w.Helper()
	if got := w.solve(id).State; got != want {
		w.Fatalf("solve %s is %s, want %s", id, got, want)
	}
}
