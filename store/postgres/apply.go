package postgres

import (
	"context"
	"errors"

	"github.com/yudai-dev/yudai/solve"
)

// reader is what the rules read, see [solve.Reader].
type reader struct{ t *tx }

func (r reader) Solve(id solve.ID) (solve.Solve, error)    { return r.t.solve(id) }
func (r reader) Run(id solve.ID, n int) (solve.Run, error) { return r.t.run(id, n) }
func (r reader) Runs(id solve.ID) ([]solve.Run, error)     { return r.t.runs(id) }
func (r reader) Alive(node string) bool                    { return r.t.alive(node) }

// Unfinished implements [solve.Reader].
func (r reader) Unfinished(id solve.ID, _ int) (n int) {
	if r.t.busy != nil {
		return r.t.busy[id]
	}
	r.t.keep(r.t.get("select count(*) from run where solve = $1 and not final", []any{id}, &n))
	return n
}

// Fate implements [solve.Reader].
func (r reader) Fate(id solve.ID) (solve.Fate, error) {
	return orZero(one[solve.Fate](r.t, "select record from fate where solve = $1", id))
}

// TrackRecord implements [solve.Reader]. The row is made if there is none, to be locked.
func (r reader) TrackRecord(repo int64) (solve.TrackRecord, error) {
	if _, err := r.t.db.Exec(r.t.ctx, "insert into track_record (repo) values ($1) on conflict do nothing", repo); err != nil {
		return solve.TrackRecord{}, err
	}
	return one[solve.TrackRecord](r.t, "select coalesce(record, '{}') from track_record where repo = $1 for update", repo)
}

func orZero[T any](v T, err error) (T, error) {
	if errors.Is(err, solve.ErrNotFound) {
		err = nil
	}
	return v, err
}

// Apply does one transition with all that belongs to it, or nothing.
// [solve.ErrLeaseLost], [solve.ErrTransition] and [solve.ErrNotFound] say why not.
func (s *Store) Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	after, err := s.transition(ctx, c.Solve, func(t *tx) (*solve.Transition, error) { return solve.Apply(reader{t}, c, t.now()) })
	if err != nil {
		return solve.Solve{}, solve.Run{}, named(err, "apply", solve.NameOf(c.Event))
	}
	return after.Solve, after.Run, nil
}

// RequestCancel notes that a person wants the solve stopped. What nobody works on
// ends at once; owners see the flag when they read the solve again.
func (s *Store) RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error) {
	after, err := s.transition(ctx, id, func(t *tx) (*solve.Transition, error) { return solve.Cancel(reader{t}, id, by, why, t.now()) })
	if err != nil {
		return solve.Solve{}, named(err, "ask for cancel of solve", id)
	}
	return after.Solve, nil
}

// transition writes what a rule returns of a solve that nobody else can change meanwhile.
func (s *Store) transition(
	ctx context.Context, id solve.ID, rule func(*tx) (*solve.Transition, error),
) (after *solve.Transition, err error) {
	err = s.update(ctx, func(t *tx) error {
		if err := t.hold(id); err != nil {
			return err
		}
		if after, err = rule(t); err != nil {
			return err
		}
		return t.write(after)
	})
	if err == nil && s.cfg.Ended != nil && after.Solve.State.Final() && len(after.Entries) > 0 {
		runs, _ := s.Runs(context.WithoutCancel(ctx), id) // who reads them next is told why they cannot be read
		s.cfg.Ended(after.Solve, runs)
	}
	return after, err
}

// hold locks a solve, before the time is asked for.
func (t *tx) hold(id solve.ID) error {
	var held bool
	return named(t.get("select true from solve where id = $1 for update", []any{id}, &held), "solve", id)
}

// write stores everything that follows from an event.
func (t *tx) write(all *solve.Transition) error {
	s := all.Solve
	if s.State.Final() && len(all.Entries) == 0 {
		return nil // it ended before
	}
	t.raise(all)
	err := t.putSolve(s)
	for _, c := range all.Runs {
		err = errors.Join(err, t.putRun(c.After))
	}
	for _, e := range all.Entries {
		record, bad := encode(e)
		_, failed := t.do("insert into event (solve, seq, record) values ($1, $2, $3)", e.Solve, e.Seq, record)
		err = errors.Join(err, bad, failed)
	}
	for _, e := range all.Effects {
		err = errors.Join(err, t.want(e))
	}
	if s.Pull != nil { // its number is one of the repository's issues, too
		err = errors.Join(err, t.putLatest(s, s.Pull.Number))
	}
	return errors.Join(err, t.learn(all.Learned))
}

// raise lifts the tokens that a rule gave out above those of earlier timelines.
func (t *tx) raise(all *solve.Transition) {
	for i := range all.Runs {
		c := &all.Runs[i]
		if c.Before == nil || c.After.Lease.Token == c.Before.Lease.Token {
			continue
		}
		c.After.Lease.Token = t.token(c.After.Lease.Token)
		if c.After.N == all.Run.N {
			all.Run.Lease.Token = c.After.Lease.Token
		}
	}
}

// learn stores what a track record learned; nil is nothing.
func (t *tx) learn(l *solve.Learned) error {
	if l == nil {
		return nil
	}
	fate, err := encode(l.Fate)
	if err != nil {
		return err
	}
	record, err := encode(l.Record)
	if err != nil {
		return err
	}
	const put = "insert into fate (solve, record) values ($1, $2) on conflict (solve) do update set record = $2"
	if _, err = t.do(put, l.Fate.Solve, fate); err != nil {
		return err
	}
	_, err = t.do("update track_record set record = $2 where repo = $1", l.Record.Repo.ID, record)
	return err
}

// Learn counts what became of a solve.
func (s *Store) Learn(ctx context.Context, id solve.ID, news solve.Fate) error {
	return s.update(ctx, func(t *tx) error {
		if err := t.hold(id); err != nil {
			return err
		}
		learned, err := solve.Told(reader{t}, id, news, t.now())
		if err != nil {
			return err
		}
		return t.learn(learned)
	})
}
