package solver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// await waits until ok, at most for the limit of fake time. It looks more rarely the longer it waits.
func (w *world) await(limit time.Duration, what string, ok func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	hints := w.store.Watch(ctx)
	for began := time.Now(); !ok(); {
		select {
		case <-hints:
		case <-time.After(max(250*time.Millisecond, time.Since(began)/200)):
		}
		if ctx.Err() != nil && !ok() {
			w.Fatalf("waited %s in vain: %s\n%s", limit, what, w.dump())
		}
	}
}

// dump is where every living solve stands.
func (w *world) dump() string {
	var b strings.Builder
	live, err := w.store.LiveSolves(context.Background())
	fmt.Fprintln(&b, "sandboxes:", w.driver.leftovers(), err)
	for _, s := range live {
		fmt.Fprintf(&b, "%s %s of %q %s\n", s.ID, s.State, s.Lease.Node, s.Reason)
		for _, r := range w.runs(s.ID) {
			fmt.Fprintf(&b, "  %d %s of %q, attempt %d, %s %s\n", r.N, r.State, r.Lease.Node, r.Attempt, r.Exit, r.Reason)
		}
	}
	return b.String()
}

func (w *world) solve(id solve.ID) solve.Solve {
	w.Helper()
	s, err := w.store.Solve(context.Background(), id)
	w.must(err)
	return s
}

func (w *world) runs(id solve.ID) []solve.Run {
	w.Helper()
	list, err := w.store.Runs(context.Background(), id)
	w.must(err)
	return list
}

func (w *world) run1(id solve.ID) solve.Run {
	w.Helper()
	r, err := w.store.Run(context.Background(), id, 1)
	w.must(err)
	return r
}

// state waits until the solve is in the state.
func (w *world) state(id solve.ID, want solve.State) {
	w.Helper()
	w.await(time.Hour, string(want), func() bool { return w.solve(id).State == want })
}

// runState waits until the solve's first run is in the state.
func (w *world) runState(id solve.ID, want solve.RunState) {
	w.Helper()
	w.await(time.Hour, string(want), func() bool {
		r, err := w.store.Run(w.Context(), id, 1)
		return err == nil && r.State == want
	})
}

// final waits for the solve's end, which must be the wanted one.
func (w *world) final(id solve.ID, want solve.State) solve.Solve {
	w.Helper()
	w.await(24*time.Hour, "the end of "+string(id), func() bool { return w.solve(id).State.Final() })
	s := w.solve(id)
	if s.State != want {
		w.Fatalf("solve %s is %s (%s), want %s", id, s.State, s.Reason, want)
	}
	if s.Decision != nil && w.signs == nil {
		w.bundled(id)
	}
	return s
}

// ends compares the states of a solve's runs.
func (w *world) ends(id solve.ID, want ...solve.RunState) []solve.Run {
	w.Helper()
	list := w.runs(id)
	var got []solve.RunState
	for _, r := range list {
		got = append(got, r.State)
	}
	if !slices.Equal(got, want) {
		w.Fatalf("the runs ended %v, want %v; reasons:\n%s", got, want, reasons(list))
	}
	return list
}

func reasons(list []solve.Run) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%d: %s: %s\n", r.N, r.Exit, r.Reason)
	}
	return b.String()
}

// clean waits, without any sweep, until no sandbox or base is left.
func (w *world) clean() {
	w.Helper()
	w.await(time.Minute, "all sandboxes closed", func() bool {
		return len(w.driver.leftovers()) == 0 && (w.second == nil || len(w.second.leftovers()) == 0)
	})
}
