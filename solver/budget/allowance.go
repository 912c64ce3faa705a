package budget

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// Allowance is one run's part of the budget, and its own limits.
type Allowance struct {
	budget   *Budget
	run      int
	limits   solve.Limits
	spent    solve.Money // all attempts together
	steps    int
	reserved solve.Money // may be spent whatever the others do, what is spent included
	held     solve.Money // upper bounds of the calls that are under way
	open     int         // calls that are under way
	over     bool
	ended    chan struct{} // closed, and made anew, when a call ends
}

// Close ends the allowance: the run spends no more.
func (a *Allowance) Close() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.over = true
	a.wake()
	a.budget.close(a)
}

// wake lets those who wait for the end of a call look again. The lock must be held.
func (a *Allowance) wake() {
	close(a.ended)
	a.ended = make(chan struct{})
}

// Check returns agent.ErrBudget when nothing is left for another call.
func (a *Allowance) Check() error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.check()
}

// check says whether anything is left for this run. The lock must be held.
func (a *Allowance) check() error {
	b := a.budget
	if b.limit == 0 || a.spent < a.reserved || b.left(false) > 0 {
		return nil
	}
	return agent.ErrBudget
}

// Pay books what a call cost that Check let through.
func (a *Allowance) Pay(m solve.Money) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.book(m)
}

// book adds what a call cost to what its run has spent, also where the run is another
// owner's by now, or has ended. The lock must be held.
func (a *Allowance) book(cost solve.Money) {
	if now, ok := a.budget.allowances[a.run]; ok {
		now.spent += cost
	} else {
		a.budget.spent += cost
	}
}

// Begin lets a call through that costs worst at most, or says why not. Where other
// calls of the run are under way, and all of them together might overdraw, it waits
// until one of them has ended.
func (a *Allowance) Begin(ctx context.Context, worst solve.Money) error {
	for {
		a.budget.mu.Lock()
		ready, err := a.ready(worst)
		if err == nil && ready {
			a.held += worst
			a.open++
		}
		ended := a.ended
		a.budget.mu.Unlock()
		if err != nil || ready {
			return err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ready says whether a call may begin now. The lock must be held.
func (a *Allowance) ready(worst solve.Money) (bool, error) {
	l := a.limits
	switch {
	case a.over:
		return false, agent.ErrRunOver
	case l.RunSteps > 0 && a.steps >= l.RunSteps:
		return false, fmt.Errorf("%w: %d steps", agent.ErrLimit, l.RunSteps)
	case l.RunMoney > 0 && a.spent >= l.RunMoney:
		return false, fmt.Errorf("%w: %s", agent.ErrLimit, l.RunMoney)
	}
	if err := a.check(); err != nil || a.open == 0 {
		return err == nil, err
	}
	most := a.spent + a.held + worst
	if l.RunSteps > 0 && a.steps+a.open >= l.RunSteps || l.RunMoney > 0 && most > l.RunMoney {
		return false, nil
	}
	over := most - max(a.reserved, a.spent+a.held)
	return a.budget.limit == 0 || over <= 0 || over <= a.budget.left(true), nil
}

// End ends a call that began with worst and came to be what it is.
func (a *Allowance) End(worst solve.Money, u solve.Usage) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.held -= worst
	a.open--
	a.steps += u.Calls
	a.book(u.Cost)
	a.wake()
}
