package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Spent tells what the solves that were started since then cost, oldest first.
func (s *Store) Spent(ctx context.Context, since time.Time) (out []solve.Spending, err error) {
	err = s.view(ctx, func(d *data) error {
		for _, one := range d.solves {
			if one.Started.IsZero() || one.Started.Before(since) {
				continue
			}
			p := solve.Spending{
				Solve: one.ID, Repo: one.Repo.ID, Installation: one.Repo.Installation, Started: one.Started,
				Live: !one.State.Final(), Cost: solve.Cost(d.runsOf(one.ID)),
			}
			if p.Reserved = p.Cost; p.Live {
				p.Reserved = max(p.Cost, one.Reserve())
			}
			out = append(out, p)
		}
		slices.SortFunc(out, func(a, b solve.Spending) int {
			return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Solve, b.Solve))
		})
		return nil
	})
	return out, err
}
