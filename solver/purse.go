package solver

import (
	"context"
	"sync"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// purse is the money of one solve, shared by its runs. What was spent is the
// sum of what the runs stored, so a restart goes on with the right amount.
type purse struct {
	mu    sync.Mutex
	limit solve.Money // 0: no limit
	spent solve.Money
}

// leave returns agent.ErrBudget when nothing is left for another call.
func (p *purse) leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit > 0 && p.spent >= p.limit {
		return agent.ErrBudget
	}
	return nil
}

func (p *purse) pay(m solve.Money) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += m
}

// purseOf returns the one purse of the solve in this process.
func (e *Engine) purseOf(ctx context.Context, s solve.Solve) (*purse, error) {
	e.mu.Lock()
	p, ok := e.purses[s.ID]
	e.mu.Unlock()
	if ok {
		return p, nil
	}
	runs, err := e.Store.Runs(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	p = &purse{limit: s.Plan.Limits.SolveMoney}
	for _, r := range runs {
		if r.From == nil { // paid for by the solve it came from
			p.spent += r.Progress.Usage.Cost
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

func (e *Engine) dropPurse(id solve.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.purses, id)
}
