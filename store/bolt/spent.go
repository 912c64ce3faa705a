package bolt

import (
	"context"
	"fmt"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/solve"
)

// keepSpent is how long what a solve has spent is kept at hand; the record itself stays.
const keepSpent = 8 * 24 * time.Hour

// book keeps what [Store.Spent] needs of a solve: its scopes from its start, and
// its cost from its end. In between the runs' own records are read, so that a
// step of a run costs nothing here.
func (t *tx) book(s *solve.Solve) error {
	k := key(nil).time(s.Started).text(string(s.ID))
	if s.Started.IsZero() || !s.State.Final() && t.get(spent, k) != nil {
		return nil
	}
	row := key(nil).id(s.Repo.ID).id(s.Repo.Installation)
	if s.State.Final() {
		cost, err := t.costOf(s.ID)
		if err != nil {
			return err
		}
		row = row.id(int64(cost))
	}
	t.put(spent, k, row)
	return nil
}

// costOf is what the solve's own runs have cost.
func (t *tx) costOf(id solve.ID) (solve.Money, error) {
	list, err := t.runsOf(id)
	return solve.Cost(list), err
}

// bookAll keeps the same for the solves of an older layout.
func bookAll(b *bbolt.Tx) error {
	t := &tx{b: b}
	return t.run(func(t *tx) error {
		since := time.Now().Add(-keepSpent)
		for k, v := range t.scan(solves, nil) {
			s, err := t.decodeSolve(solve.ID(k), v)
			if err == nil && !s.Started.Before(since) {
				err = t.book(&s)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Spent tells what the solves that were started since then cost, oldest first. It
// reaches a week back. The cost is that of one small row for each ended solve, and
// of reading the live ones.
func (s *Store) Spent(ctx context.Context, since time.Time) ([]solve.Spending, error) {
	return read(ctx, s, func(t *tx) (out []solve.Spending, err error) {
		for k, v := range t.scanFrom(spent, nil, key(nil).time(since)) {
			if len(k) < 9 || len(v) < 16 {
				return nil, fmt.Errorf("row %x of what was spent is damaged", k)
			}
			one := solve.Spending{
				Solve: solve.ID(k[8 : len(k)-1]), Started: timeOf(num(k)),
				Repo: int64(num(v)), Installation: int64(num(v[8:])),
			}
			if len(v) >= 24 {
				one.Cost = solve.Money(num(v[16:]))
				one.Reserved = one.Cost
			} else if err := t.spending(&one); err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	})
}

// spending reads what a live solve has cost so far and may still cost.
func (t *tx) spending(one *solve.Spending) error {
	s, err := t.solve(one.Solve)
	if err != nil {
		return err
	}
	one.Live = true
	if one.Cost, err = t.costOf(s.ID); err != nil {
		return err
	}
	one.Reserved = max(one.Cost, s.Reserve())
	return nil
}
