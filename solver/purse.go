package solver

import (
	"context"
	"fmt"
	"sync"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// purse is the money of one solve, shared by its runs. A run that starts reserves its
// part of what is left, so that none that starts later can take it away; what it does
// not use is everybody's when it ends. What was spent is the sum of what the runs
// stored, so a restart goes on with the right amount.
//
// A call is let through while something is left, whatever it will cost: together the
// runs exceed the limit by one call each at most. Further calls of a run that has one
// under way must fit with their upper bounds, or wait.
type purse struct {
	mu       sync.Mutex
	limit    solve.Money  // 0: no limit
	parallel int          // runs that work at a time, 0: all
	queued   map[int]bool // runs that have not begun to spend, or begin again
	ended    solve.Money  // spent by runs that are not at work here
	accounts map[int]*account
}

// account is one run's part of the purse, and its own limits.
type account struct {
	purse    *purse
	run      int
	limits   solve.Limits
	spent    solve.Money // all attempts together
	steps    int
	reserved solve.Money // may be spent whatever the others do, what is spent included
	held     solve.Money // upper bounds of the calls that are under way
	open     int         // calls that are under way
	over     bool
	settled  chan struct{} // closed, and made anew, when a call is settled
}

// left is what nobody has spent or reserved; below 0 if the limit is exceeded. The
// lock must be held. With holds counts calls that are under way as they may come out.
func (p *purse) left(holds bool) solve.Money {
	sum := p.ended
	for _, a := range p.accounts {
		spent := a.spent
		if holds {
			spent += a.held
		}
		sum += max(spent, a.reserved)
	}
	return p.limit - sum
}

// account opens the account of a run that begins, or goes on, to spend.
func (p *purse) account(r solve.Run, limits solve.Limits) *account {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.accounts[r.N]; ok {
		a.over = true // of an owner that lost the run
		p.close(a)
	}
	a := &account{
		purse: p, run: r.N, limits: limits,
		spent: r.Progress.Usage.Cost, steps: r.Progress.Steps, settled: make(chan struct{}),
	}
	p.ended -= a.spent
	delete(p.queued, r.N)
	if p.limit > 0 {
		a.reserved = p.share(a)
	}
	p.accounts[r.N] = a
	return a
}

// share is what a run may reserve: an equal part of what is left for each run that can
// be at work beside it, and not more than a run may cost.
func (p *purse) share(a *account) solve.Money {
	places := len(p.queued) + 1
	if p.parallel > 0 {
		places = min(places, p.parallel-len(p.accounts))
	}
	part := a.spent + max(p.left(false)-a.spent, 0)/solve.Money(max(places, 1))
	if most := a.limits.RunMoney; most > 0 {
		part = min(part, most)
	}
	return part
}

// requeue notes that a run will begin again: what others reserve leaves it its part.
func (p *purse) requeue(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued[n] = true
}

// close gives back what an account did not spend. The lock must be held.
func (p *purse) close(a *account) {
	if p.accounts[a.run] == a {
		delete(p.accounts, a.run)
		p.ended += a.spent
	}
}

// end closes the account: the run spends no more.
func (a *account) end() {
	a.purse.mu.Lock()
	defer a.purse.mu.Unlock()
	a.over = true
	a.wake()
	a.purse.close(a)
}

// wake lets those who wait for a settled call look again. The lock must be held.
func (a *account) wake() {
	close(a.settled)
	a.settled = make(chan struct{})
}

// leave returns agent.ErrBudget when nothing is left for another call.
func (a *account) leave() error {
	a.purse.mu.Lock()
	defer a.purse.mu.Unlock()
	return a.budget()
}

// budget says whether anything is left for this run. The lock must be held.
func (a *account) budget() error {
	p := a.purse
	if p.limit == 0 || a.spent < a.reserved || p.left(false) > 0 {
		return nil
	}
	return agent.ErrBudget
}

// pay books what a call cost that leave let through.
func (a *account) pay(m solve.Money) {
	a.purse.mu.Lock()
	defer a.purse.mu.Unlock()
	a.book(m)
}

// book adds what a call cost to what its run has spent, also where the run is another
// owner's by now, or has ended. The lock must be held.
func (a *account) book(cost solve.Money) {
	if now, ok := a.purse.accounts[a.run]; ok {
		now.spent += cost
	} else {
		a.purse.ended += cost
	}
}

// begin lets a call through that costs worst at most, or says why not. Where other
// calls of the run are under way, and all of them together might overdraw, it waits
// until one of them is settled.
func (a *account) begin(ctx context.Context, worst solve.Money) error {
	for {
		a.purse.mu.Lock()
		ready, err := a.ready(worst)
		if err == nil && ready {
			a.held += worst
			a.open++
		}
		settled := a.settled
		a.purse.mu.Unlock()
		if err != nil || ready {
			return err
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ready says whether a call may begin now. The lock must be held.
func (a *account) ready(worst solve.Money) (bool, error) {
	l := a.limits
	switch {
	case a.over:
		return false, agent.ErrOver
	case l.RunSteps > 0 && a.steps >= l.RunSteps:
		return false, fmt.Errorf("%w: %d steps", agent.ErrLimit, l.RunSteps)
	case l.RunMoney > 0 && a.spent >= l.RunMoney:
		return false, fmt.Errorf("%w: %s", agent.ErrLimit, l.RunMoney)
	}
	if err := a.budget(); err != nil || a.open == 0 {
		return err == nil, err
	}
	most := a.spent + a.held + worst
	if l.RunSteps > 0 && a.steps+a.open >= l.RunSteps || l.RunMoney > 0 && most > l.RunMoney {
		return false, nil
	}
	over := most - max(a.reserved, a.spent+a.held)
	return a.purse.limit == 0 || over <= 0 || over <= a.purse.left(true), nil
}

// settle ends a call that began with worst and came to be what it is.
func (a *account) settle(worst solve.Money, u solve.Usage) {
	a.purse.mu.Lock()
	defer a.purse.mu.Unlock()
	a.held -= worst
	a.open--
	a.steps += u.Calls
	a.book(u.Cost)
	a.wake()
}

// purseOf returns the one purse of the solve in this process.
func (e *Engine) purseOf(ctx context.Context, s solve.Solve) (*purse, error) {
	if p, ok := e.openPurse(s.ID); ok {
		return p, nil
	}
	runs, err := e.Store.Runs(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	p := &purse{limit: s.Plan.Limits.SolveMoney, parallel: s.Plan.Limits.Parallel, queued: map[int]bool{}, accounts: map[int]*account{}}
	for _, r := range runs {
		if r.From != nil { // paid for by the solve it came from
			continue
		}
		p.ended += r.Progress.Usage.Cost
		if !r.State.Final() {
			p.queued[r.N] = true
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if other, ok := e.purses[s.ID]; ok {
		return other, nil
	}
	e.purses[s.ID] = p
	return p, nil
}

// openPurse is the purse of a solve that works here.
func (e *Engine) openPurse(id solve.ID) (*purse, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, ok := e.purses[id]
	return p, ok
}

func (e *Engine) dropPurse(id solve.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.purses, id)
}
