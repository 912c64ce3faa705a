package budget

import "github.com/yudai-dev/yudai/solve"

// NewBudget is the budget of a solve with so many runs that have not begun.
func NewBudget(limit solve.Money, parallel, runs int) *Budget {
	b := newBudget(solve.Limits{SolveMoney: limit, Parallel: parallel})
	for n := range runs {
		b.Requeue(n + 1)
	}
	return b
}

// Requeue notes that a run has not begun, or begins again.
func (b *Budget) Requeue(n int) { b.requeue(n) }

// Open is the allowance of a run.
func (b *Budget) Open(n int, l solve.Limits) *Allowance { return b.Allowance(solve.Run{N: n}, l) }

// Settle ends a call.
func (a *Allowance) Settle(worst, cost solve.Money) {
	a.End(worst, solve.Usage{Calls: 1, Cost: cost})
}

// Reserved is what nobody else can spend.
func (a *Allowance) Reserved() solve.Money { return a.reserved }
