// Package budget bounds what solves cost: the money of one solve, shared by its runs, and
// what may be started and spent in a day.
package budget

import (
	"context"
	"sync"

	"github.com/yudai-dev/yudai/solve"
)

// Budget is the money of one solve, shared by its runs. A run that starts reserves its
// part of what is left, so that none that starts later can take it away; what it does
// not use is everybody's when it ends. What was spent is the sum of what the runs
// stored, so a restart goes on with the right amount.
//
// A call is let through while something is left, whatever it will cost: together the
// runs exceed the limit by one call each at most. Further calls of a run that has one
// under way must fit with their upper bounds, or wait.
type Budget struct {
	mu         sync.Mutex
	limit      solve.Money  // 0: no limit
	parallel   int          // runs that work at a time, 0: all
	queued     map[int]bool // runs that have not begun to spend, or begin again
	spent      solve.Money  // by runs that are not at work here
	allowances map[int]*Allowance
}

func newBudget(l solve.Limits) *Budget {
	return &Budget{limit: l.SolveMoney, parallel: l.Parallel, queued: map[int]bool{}, allowances: map[int]*Allowance{}}
}

// left is what nobody has spent or reserved; below 0 if the limit is exceeded. With holds,
// calls that are under way count with their upper bounds. The lock must be held.
func (b *Budget) left(holds bool) solve.Money {
	sum := b.spent
	for _, a := range b.allowances {
		spent := a.spent
		if holds {
			spent += a.held
		}
		sum += max(spent, a.reserved)
	}
	return b.limit - sum
}

// Allowance is the part of a run that begins, or goes on, to spend.
func (b *Budget) Allowance(r solve.Run, limits solve.Limits) *Allowance {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a, ok := b.allowances[r.N]; ok {
		a.over = true // of an owner that lost the run
		b.close(a)
	}
	a := &Allowance{
		budget: b, run: r.N, limits: limits,
		spent: r.Progress.Usage.Cost, steps: r.Progress.Steps, ended: make(chan struct{}),
	}
	b.spent -= a.spent
	delete(b.queued, r.N)
	if b.limit > 0 {
		a.reserved = b.share(a)
	}
	b.allowances[r.N] = a
	return a
}

// share is what a run may reserve: an equal part of what is left for each run that can
// be at work beside it, and not more than a run may cost.
func (b *Budget) share(a *Allowance) solve.Money {
	places := len(b.queued) + 1
	if b.parallel > 0 {
		places = min(places, b.parallel-len(b.allowances))
	}
	part := a.spent + max(b.left(false)-a.spent, 0)/solve.Money(max(places, 1))
	if most := a.limits.RunMoney; most > 0 {
		part = min(part, most)
	}
	return part
}

// requeue notes that a run will begin again: what others reserve leaves it its part.
func (b *Budget) requeue(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queued[n] = true
}

// close gives back what an allowance did not spend. The lock must be held.
func (b *Budget) close(a *Allowance) {
	if b.allowances[a.run] == a {
		delete(b.allowances, a.run)
		b.spent += a.spent
	}
}

// Budgets are those of the solves that this process works on.
type Budgets struct {
	store runStore
	mu    sync.Mutex
	open  map[solve.ID]*Budget
}

// runStore tells what a solve has spent already.
type runStore interface {
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
}

// New returns the budgets of a process.
func New(store runStore) *Budgets { return &Budgets{store: store, open: map[solve.ID]*Budget{}} }

// Of returns the one budget of the solve in this process.
func (all *Budgets) Of(ctx context.Context, s solve.Solve) (*Budget, error) {
	if b, ok := all.known(s.ID); ok {
		return b, nil
	}
	runs, err := all.store.Runs(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	b := newBudget(s.Plan.Limits)
	for _, r := range runs {
		if r.From != nil { // paid for by the solve it came from
			continue
		}
		b.spent += r.Progress.Usage.Cost
		if !r.State.Final() {
			b.queued[r.N] = true
		}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if other, ok := all.open[s.ID]; ok {
		return other, nil
	}
	all.open[s.ID] = b
	return b, nil
}

func (all *Budgets) known(id solve.ID) (*Budget, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	b, ok := all.open[id]
	return b, ok
}

// Requeue notes that a run will begin again, if its solve's budget is known here.
func (all *Budgets) Requeue(r solve.Run) {
	if b, ok := all.known(r.Solve); ok {
		b.requeue(r.N)
	}
}

// Drop forgets the budget of a solve that ended.
func (all *Budgets) Drop(id solve.ID) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, id)
}
