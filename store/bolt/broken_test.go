package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/storetest"
)

// recorder is a test that may fail without failing ours.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Failed() bool          { return r.failed }
func (r *recorder) Error(...any)          { r.failed = true }
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatal(...any)          { r.failed = true; runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; runtime.Goexit() }

// breaks says whether the promise is broken by the store.
func breaks(t *testing.T, p storetest.Promise, spoil func(storetest.Store) storetest.Store) bool {
	c, clock := config(t), &storetest.Clock{}
	c.Now = clock.Now
	s := spoil(open(t, c))
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Check(r, s, clock)
	}()
	<-done
	return r.failed
}

// Engines that are wrong in one thing each.
type (
	noToken      struct{ storetest.Store }
	noHeartbeat  struct{ storetest.Store }
	anyDelivery  struct{ storetest.Store }
	noCaps       struct{ storetest.Store }
	noRescue     struct{ storetest.Store }
	forgetful    struct{ storetest.Store }
	lateStep     struct{ storetest.Store }
	lossyEffects struct{ storetest.Store }
	twoWriters   struct{ storetest.Store }
	deafCancel   struct{ storetest.Store }
	oldestFirst  struct{ storetest.Store }
	noReserve    struct{ storetest.Store }
)

func (s noToken) Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	c.Token = 0
	return s.Store.Apply(ctx, c)
}

func (s noHeartbeat) Heartbeat(ctx context.Context, node string, _ time.Duration) error {
	return s.Store.Heartbeat(ctx, node, 1000*time.Hour)
}

func (s anyDelivery) Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	d.GUID += fmt.Sprint(time.Now().UnixNano())
	return s.Store.Accept(ctx, d, w)
}

func (s noCaps) Admit(ctx context.Context, node string, _ solve.Caps) ([]solve.Run, error) {
	return s.Store.Admit(ctx, node, solve.Caps{})
}

func (s noRescue) Rescue(ctx context.Context, node string) ([]solve.Run, error) {
	return nil, nil
}

func (s forgetful) Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error) {
	list, err := s.Store.Events(ctx, id, after)
	return list[min(1, len(list)):], err
}

func (s lateStep) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error {
	if r, err := s.Run(ctx, id, n); err == nil {
		token = r.Lease.Token // as if it did not look at the writer's
	}
	return s.Store.Step(ctx, id, n, token, lines, p)
}

func (s lossyEffects) FinishEffect(ctx context.Context, k string, token, _ uint64, r solve.Receipt) error {
	e, err := s.Effect(ctx, k)
	return errors.Join(err, s.Store.FinishEffect(ctx, k, token, e.Wanted, r))
}

func (s twoWriters) ClaimEffect(ctx context.Context, k, node string, ttl time.Duration) (solve.Effect, error) {
	e, err := s.Store.ClaimEffect(ctx, k, node, ttl)
	if errors.Is(err, solve.ErrLeaseLost) {
		return s.Effect(ctx, k)
	}
	return e, err
}

func (s deafCancel) RequestCancel(ctx context.Context, id solve.ID, _, _ string) (solve.Solve, error) {
	return s.Solve(ctx, id)
}

// ClaimSolve passes the queue's order over: whoever is oldest is next.
func (s oldestFirst) ClaimSolve(ctx context.Context, node string) (solve.Solve, error) {
	var got []solve.Solve
	for {
		one, err := s.Store.ClaimSolve(ctx, node)
		if err != nil {
			break
		}
		got = append(got, one)
	}
	if len(got) == 0 {
		return solve.Solve{}, solve.ErrNotFound
	}
	slices.SortFunc(got, func(a, b solve.Solve) int { return a.Created.Compare(b.Created) })
	return got[0], nil
}

func (s noReserve) Spent(ctx context.Context, since time.Time) ([]solve.Spending, error) {
	list, err := s.Store.Spent(ctx, since)
	for i := range list {
		list[i].Reserved = list[i].Cost
	}
	return list, err
}

// TestSuiteCatchesBrokenEngines shows that the suite notices each of them, and by which promise.
func TestSuiteCatchesBrokenEngines(t *testing.T) {
	t.Parallel()
	promises := map[string]storetest.Promise{}
	for _, p := range storetest.Promises() {
		promises[p.Name] = p
	}
	const chaos = "random work of dying nodes keeps every invariant"
	for _, c := range []struct {
		name    string
		spoil   func(storetest.Store) storetest.Store
		noticed []string
	}{
		{"no check of tokens", func(s storetest.Store) storetest.Store { return noToken{s} }, []string{"only the living owner's token writes", chaos}},
		{"leases without an end", func(s storetest.Store) storetest.Store { return noHeartbeat{s} }, []string{"a node whose lease ran out is never revived", chaos}},
		{"every delivery counts", func(s storetest.Store) storetest.Store { return anyDelivery{s} }, []string{"a delivery counts once", "64 senders of the same deliveries store each once"}},
		{"no caps", func(s storetest.Store) storetest.Store { return noCaps{s} }, []string{"every cap holds, over all nodes", "many admitters keep the caps", chaos}},
		{"nobody is rescued", func(s storetest.Store) storetest.Store { return noRescue{s} }, []string{"a dead node's runs are rescued without a change of state", chaos}},
		{"an event is lost", func(s storetest.Store) storetest.Store { return forgetful{s} }, []string{"a change writes record, event and effects together", chaos}},
		{"a step of anybody", func(s storetest.Store) storetest.Store { return lateStep{s} }, []string{"a former owner's step changes nothing", chaos}},
		{"a newer version is lost", func(s storetest.Store) storetest.Store { return lossyEffects{s} }, []string{"a version asked for while one is written is written next"}},
		{"two writers of an effect", func(s storetest.Store) storetest.Store { return twoWriters{s} }, []string{"one writer holds an effect, until its claim runs out"}},
		{"cancel is not heard", func(s storetest.Store) storetest.Store { return deafCancel{s} }, []string{"cancelling stops at once what nobody works on"}},
		{"the oldest wish is first", func(s storetest.Store) storetest.Store { return oldestFirst{s} }, []string{"waiting is fair between repositories", "what was begun goes before the queue"}},
		{"what may be spent is not counted", func(s storetest.Store) storetest.Store { return noReserve{s} }, []string{"what solves have spent is told, from their start on"}},
	} {
		for _, name := range c.noticed {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, known := promises[name]
				if !known {
					t.Fatal("no such promise")
				}
				if !breaks(t, p, c.spoil) {
					t.Error("the promise holds for a broken engine")
				}
			})
		}
	}
}
