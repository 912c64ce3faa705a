package solver

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// Holds are the waits of a solve whose step fails with the error each time.
func Holds(ctx context.Context, s solve.Solve, err error, world bool, attempts int) (out []time.Duration) {
	if world {
		err = fault.Outside{Err: err}
	}
	var failed tries
	for {
		wait, again := failed.after(ctx, s, err, attempts)
		if !again {
			return out
		}
		out = append(out, wait)
		<-time.After(wait)
	}
}

// Purse is a purse without a store.
type Purse struct{ purse }

// NewPurse is the purse of a solve with so many runs that have not begun.
func NewPurse(limit solve.Money, parallel, runs int) *Purse {
	p := &Purse{purse{limit: limit, parallel: parallel, queued: map[int]bool{}, accounts: map[int]*account{}}}
	for n := range runs {
		p.Requeue(n + 1)
	}
	return p
}

// Open opens the account of a run.
func (p *Purse) Open(n int, l solve.Limits) *Account {
	return &Account{p.account(solve.Run{N: n}, l)}
}

// Requeue notes that a run has not begun, or begins again.
func (p *Purse) Requeue(n int) { p.requeue(n) }

// Account is a run's account.
type Account struct{ account *account }

// Begin asks for leave for a call.
func (a *Account) Begin(ctx context.Context, worst solve.Money) error {
	return a.account.begin(ctx, worst)
}

// Settle ends it.
func (a *Account) Settle(worst, cost solve.Money) {
	a.account.settle(worst, solve.Usage{Calls: 1, Cost: cost})
}

// Pay books a call that was let through before.
func (a *Account) Pay(cost solve.Money) { a.account.pay(cost) }

// End ends the run.
func (a *Account) End() { a.account.end() }

// Reserved is what nobody else can spend.
func (a *Account) Reserved() solve.Money { return a.account.reserved }

// InstallText is what installs an agent in a directory.
func InstallText(dir, command string) string { return fmt.Sprintf(installAgent, dir, command) }
