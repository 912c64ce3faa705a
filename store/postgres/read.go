package postgres

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Solve returns one solve; [solve.ErrNotFound] if there is none.
func (s *Store) Solve(ctx context.Context, id solve.ID) (out solve.Solve, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = t.solve(id)
		return err
	})
	return out, err
}

// Runs returns the runs of a solve by number.
func (s *Store) Runs(ctx context.Context, id solve.ID) (out []solve.Run, err error) {
	err = s.view(ctx, func(t *tx) error {
		if _, err := t.solve(id); err != nil {
			return err
		}
		out, err = t.runs(id)
		return err
	})
	return out, err
}

// Run returns one run; [solve.ErrNotFound] if there is none.
func (s *Store) Run(ctx context.Context, id solve.ID, n int) (out solve.Run, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = t.run(id, n)
		return err
	})
	return out, err
}

// Events returns the events of a solve with a number above after, in order.
func (s *Store) Events(ctx context.Context, id solve.ID, after uint64) (out []solve.Entry, err error) {
	err = s.view(ctx, func(t *tx) error {
		if _, err := t.solve(id); err != nil {
			return err
		}
		out, err = all[solve.Entry](t, "select record from event where solve = $1 and seq > $2 order by seq", id, after)
		return err
	})
	return out, err
}

// Solves are at most that many solves whose ID is below before, or of all for "", the highest ID first.
func (s *Store) Solves(ctx context.Context, before solve.ID, most int) (out []solve.Solve, err error) {
	err = s.view(ctx, func(t *tx) error {
		where, args := "", []any{most}
		if before != "" {
			where, args = "where id < $2", append(args, before)
		}
		out, err = all[solve.Solve](t, "select record from solve "+where+" order by id desc limit $1", args...)
		return err
	})
	return out, err
}

// LiveSolves are those in no final state, oldest first.
func (s *Store) LiveSolves(ctx context.Context) (out []solve.Solve, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = all[solve.Solve](t, "select record from solve where live order by created, id")
		return err
	})
	return out, err
}

// LatestSolve is the newest solve of an issue; [solve.ErrNotFound] if none.
func (s *Store) LatestSolve(ctx context.Context, repoID int64, issue int) (out solve.Solve, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = one[solve.Solve](t,
			"select record from solve join latest on latest.solve = solve.id where latest.repo = $1 and latest.issue = $2", repoID, issue)
		return named(err, "solve of issue", issue)
	})
	return out, err
}

// Spent tells what the solves that were started since then cost, oldest first. The
// cost is that of a small part of each of their runs.
func (s *Store) Spent(ctx context.Context, since time.Time) (out []solve.Spending, err error) {
	err = s.view(ctx, func(t *tx) error {
		list, err := all[solve.Solve](t,
			"select record from solve where started >= $1 and started > $2 order by started, id", stamp(since), stamp(time.Time{}))
		if err != nil {
			return err
		}
		runs, err := all[solve.Run](t, `
			select jsonb_build_object('solve', run.solve, 'from', run.record -> 'from', 'progress', run.record -> 'progress')
			from run join solve on solve.id = run.solve where started >= $1 and started > $2`, stamp(since), stamp(time.Time{}))
		if err != nil {
			return err
		}
		bySolve := map[solve.ID][]solve.Run{}
		for _, r := range runs {
			bySolve[r.Solve] = append(bySolve[r.Solve], r)
		}
		out = nil
		for _, one := range list {
			p := solve.Spending{
				Solve: one.ID, Repo: one.Repo.ID, Installation: one.Repo.Installation, Started: one.Started,
				Live: !one.State.Final(), Cost: solve.Cost(bySolve[one.ID]),
			}
			if p.Reserved = p.Cost; p.Live {
				p.Reserved = max(p.Cost, one.Reserve())
			}
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// TrackRecords are those of all repositories, by number.
func (s *Store) TrackRecords(ctx context.Context) (out []solve.TrackRecord, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = all[solve.TrackRecord](t, "select record from track_record where record is not null order by repo")
		return err
	})
	return out, err
}

// UnknownDeliveries returns those of the GUIDs that were never stored, or are no longer kept, in the order given.
func (s *Store) UnknownDeliveries(ctx context.Context, guids []string) (unknown []string, err error) {
	err = s.view(ctx, func(t *tx) error {
		unknown = nil
		for _, guid := range guids {
			var known bool
			if err := t.get("select exists (select from delivery where guid = $1)", []any{guid}, &known); err != nil {
				return err
			}
			if !known {
				unknown = append(unknown, guid)
			}
		}
		return nil
	})
	return unknown, err
}

// Healed is until when missed deliveries have been looked for; zero if they never were.
func (s *Store) Healed(ctx context.Context) (at time.Time, err error) {
	err = s.view(ctx, func(t *tx) error {
		at, err = orZero(one[time.Time](t, "select to_jsonb(value) from meta where name = 'healed'"))
		return err
	})
	return at, err
}

// SetHealed notes until when missed deliveries have been looked for.
func (s *Store) SetHealed(ctx context.Context, at time.Time) error {
	return s.update(ctx, func(t *tx) error { return t.setMeta("healed", at.Format(time.RFC3339Nano)) })
}

func (t *tx) setMeta(name, value string) error {
	_, err := t.do("insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = $2", name, value)
	return err
}
