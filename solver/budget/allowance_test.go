package budget_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/budget"
)

// TestHundredRunsOfOneBudget: however many runs spend at once, and however many calls each
// of them has under way, the shared is exceeded by one call of each run at most.
func TestHundredRunsOfOneBudget(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2, 3, 4, 5} {
		synctest.Test(t, func(t *testing.T) {
			const runs, dearest = 100, 50_000
			limit := solve.Money(3_000_000)
			shared := budget.NewBudget(limit, runs, runs)
			var spent atomic.Int64
			var over sync.Map // of each run, the dearest call that it made
			var all sync.WaitGroup
			for n := range runs {
				a := shared.Open(n+1, solve.Limits{})
				for k := range 3 {
					all.Go(func() {
						r := rand.New(rand.NewPCG(seed, uint64(n*10+k)))
						for {
							worst := solve.Money(r.Int64N(dearest) + 1)
							err := a.Begin(t.Context(), worst)
							if errors.Is(err, agent.ErrBudget) {
								return
							}
							if err != nil {
								t.Errorf("begin: %v", err)
								return
							}
							<-time.After(time.Duration(r.Int64N(1e6)))
							cost := solve.Money(r.Int64N(int64(worst)) + 1)
							spent.Add(int64(cost))
							if old, _ := over.LoadOrStore(n, cost); old.(solve.Money) < cost {
								over.Store(n, cost)
							}
							a.Settle(worst, cost)
						}
					})
				}
			}
			all.Wait()
			allowed := int64(limit)
			over.Range(func(_, cost any) bool { allowed += int64(cost.(solve.Money)); return true })
			if got := spent.Load(); got < int64(limit) || got > allowed {
				t.Errorf("seed %d: spent %d of %d, and %d are the most", seed, got, limit, allowed)
			}
		})
	}
}

// TestOneRunDoesNotOverdrawTwice: calls of one run at once either fit with their upper
// bounds, or wait for those before.
func TestOneRunDoesNotOverdrawTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := budget.NewBudget(100, 1, 1).Open(1, solve.Limits{})
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(a.Begin(t.Context(), 60))
		must(a.Begin(t.Context(), 40)) // fits
		got := make(chan error, 1)
		go func() { got <- a.Begin(t.Context(), 1) }()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("a third call did not wait: %v", err)
		default:
		}
		a.Settle(60, 5)
		synctest.Wait()
		select {
		case err := <-got:
			must(err)
		default:
			t.Fatal("the third call waits although it fits")
		}
		a.Settle(40, 100)
		a.Settle(1, 1)
		if err := a.Begin(t.Context(), 1); !errors.Is(err, agent.ErrBudget) {
			t.Errorf("an empty shared lets a call through: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b := budget.NewBudget(100, 1, 1).Open(1, solve.Limits{})
		must(b.Begin(ctx, 100))
		go func() { got <- b.Begin(ctx, 100) }()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("a call that waits outlives its agent: %v", err)
		}
	})
}

// TestReservedIsKept: what a run reserved when it began, no other can spend; what it
// leaves is everybody's.
func TestReservedIsKept(t *testing.T) {
	t.Parallel()
	shared := budget.NewBudget(1000, 2, 5)
	l := solve.Limits{RunMoney: 700}
	first, second := shared.Open(1, l), shared.Open(2, l)
	if first.Reserved() != 500 || second.Reserved() != 500 {
		t.Fatalf("two at a time reserved %d and %d of 1000", first.Reserved(), second.Reserved())
	}
	spend := func(a *budget.Allowance, cost solve.Money) error {
		err := a.Begin(t.Context(), cost)
		if err == nil {
			a.Settle(cost, cost)
		}
		return err
	}
	for _, want := range []error{nil, agent.ErrBudget} { // 600 at once: one call too much
		if err := spend(first, 600); !errors.Is(err, want) {
			t.Fatalf("spend: %v, want %v", err, want)
		}
	}
	if err := spend(second, 100); err != nil {
		t.Fatalf("the other run's part is gone: %v", err)
	}
	second.Close()
	if err := spend(second, 1); !errors.Is(err, agent.ErrRunOver) {
		t.Errorf("an ended run spends: %v", err)
	}
	if err := spend(first, 100); err != nil { // 300 are left now
		t.Errorf("what an ended run left is not shared: %v", err)
	}
	if err := spend(first, 1); !errors.Is(err, agent.ErrLimit) {
		t.Errorf("the run's own limit does not hold: %v", err)
	}
	first.Close()
	if third := shared.Open(3, l); third.Reserved() != 100 { // of the 200 that are left, for two at a time
		t.Errorf("the third reserves %d", third.Reserved())
	}
}

// TestStepsOfAProgram: the limit of steps holds for calls at once, too.
func TestStepsOfAProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := budget.NewBudget(0, 0, 1).Open(1, solve.Limits{RunSteps: 3})
		var made atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := a.Begin(t.Context(), 1); err != nil {
					if !errors.Is(err, agent.ErrLimit) {
						t.Errorf("begin: %v", err)
					}
					return
				}
				made.Add(1)
				<-time.After(time.Second)
				a.Settle(1, 1)
			})
		}
		all.Wait()
		if n := made.Load(); n != 3 {
			t.Errorf("%d calls of 3 were let through", n)
		}
	})
}

// TestAttemptsLeaveOthersTheirPart: a run that begins again is the same run. It takes
// nothing of what those wait for that have not begun, nor they of its own.
func TestAttemptsLeaveOthersTheirPart(t *testing.T) {
	t.Parallel()
	shared := budget.NewBudget(1000, 2, 2)
	for attempt := range 3 {
		a := shared.Open(1, solve.Limits{})
		if a.Reserved() != 500 {
			t.Errorf("attempt %d reserves %d of 1000 for one of two", attempt+1, a.Reserved())
		}
		a.Close()
		shared.Requeue(1)
	}
	second := shared.Open(2, solve.Limits{})
	if second.Reserved() != 500 {
		t.Errorf("the second run reserves %d while the first one waits", second.Reserved())
	}
}

// TestPaidByALostOwner: what a call costs that an owner made who lost the run meanwhile
// is spent, whoever has the run now.
func TestPaidByALostOwner(t *testing.T) {
	t.Parallel()
	shared := budget.NewBudget(100, 1, 1)
	lost := shared.Open(1, solve.Limits{})
	now := shared.Open(1, solve.Limits{})
	lost.Pay(100)
	if err := now.Begin(t.Context(), 1); !errors.Is(err, agent.ErrBudget) {
		t.Errorf("an empty shared lets a call through: %v", err)
	}
}
