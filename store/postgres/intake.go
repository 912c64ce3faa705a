package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// Accept stores a delivery and what follows from it.
func (s *Store) Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (accepted bool, err error) {
	if err := d.Check(); err != nil {
		return false, err
	}
	if w.Solve != nil {
		if err := solve.CheckNew(*w.Solve); err != nil {
			return false, fmt.Errorf("accept delivery %s: %w", d.GUID, err)
		}
	}
	err = s.update(ctx, func(t *tx) error {
		accepted = false
		d.Received = t.when(d.Received)
		n, err := t.putDelivery(d)
		if err != nil || n == 0 {
			return err
		}
		if about := d.AboutKey(); about != "" {
			if n, err = t.putDelivery(solve.Delivery{GUID: about, Received: d.Received}); err != nil || n == 0 {
				return err
			}
		}
		accepted = true
		return t.grant(d, w)
	})
	return accepted && err == nil, named(err, "accept delivery", d.GUID)
}

func (t *tx) putDelivery(d solve.Delivery) (int64, error) {
	return t.do("insert into delivery (guid, received, event, action, payload) values ($1, $2, $3, $4, $5) on conflict do nothing",
		d.GUID, stamp(d.Received), d.Event, d.Action, d.Payload)
}

// grant stores what a delivery asks for.
func (t *tx) grant(d solve.Delivery, w solve.Intent) error {
	ask, err := solve.Grant(d, w, t.insert)
	if err != nil || ask == nil {
		return err
	}
	record, err := encode(*ask)
	if err == nil {
		_, err = t.do("insert into ask (id, at, record) values ($1, $2, $3) on conflict (id) do update set at = $2, record = $3",
			ask.ID, stamp(ask.At), record)
	}
	return err
}

// Delivery returns a delivery as it came, for replay and diagnosis;
// [solve.ErrNotFound] if it never came or is no longer kept.
func (s *Store) Delivery(ctx context.Context, guid string) (d solve.Delivery, err error) {
	d.GUID = guid
	err = s.view(ctx, func(t *tx) error {
		var received int64
		err := t.get("select received, event, action, payload from delivery where guid = $1", []any{guid},
			&received, &d.Event, &d.Action, &d.Payload)
		d.Received = timeOf(received)
		return err
	})
	return d, named(err, "delivery", guid)
}

// Create stores a queued solve, or returns the one that stands for the same intent.
func (s *Store) Create(ctx context.Context, n solve.Solve) (stored solve.Solve, created bool, err error) {
	if err := solve.CheckNew(n); err != nil {
		return solve.Solve{}, false, fmt.Errorf("create solve: %w", err)
	}
	err = s.update(ctx, func(t *tx) error {
		n.Created = t.when(n.Created)
		stored, created, err = t.insert(n)
		return err
	})
	if err != nil {
		return solve.Solve{}, false, named(err, "create solve", n.ID)
	}
	return stored, created, nil
}

// insert stores a new solve, unless its trigger key is known or the issue has a
// live solve; then that one is returned. The database's unique keys decide.
func (t *tx) insert(s solve.Solve) (stored solve.Solve, created bool, err error) {
	s = s.Queued()
	args, err := columns(s)
	if err != nil {
		return stored, false, err
	}
	n, err := t.do(`insert into solve (id, live, waiting, state, created, started, ended, brief, record, trigger_key, repo, issue)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing`,
		append(args, s.Trigger.Key, s.Repo.ID, s.Issue.Number)...)
	if err != nil {
		return stored, false, err
	}
	if n == 0 {
		stored, err = t.standsFor(s)
		return stored, false, err
	}
	err = t.putLatest(s, s.Issue.Number)
	if p := s.Target(); p != nil && err == nil { // asked about there, too
		err = t.putLatest(s, p.Number)
	}
	if err != nil {
		return stored, false, err
	}
	stored, err = t.solve(s.ID) // as it is read from now on
	return stored, true, err
}

// standsFor is the solve that was there before one with the same key, issue or ID.
func (t *tx) standsFor(s solve.Solve) (solve.Solve, error) {
	old, err := one[solve.Solve](t, "select record from solve where trigger_key = $1", s.Trigger.Key)
	if errors.Is(err, solve.ErrNotFound) {
		old, err = one[solve.Solve](t, "select record from solve where live and repo = $1 and issue = $2", s.Repo.ID, s.Issue.Number)
	}
	if !errors.Is(err, solve.ErrNotFound) {
		return old, err
	}
	if _, err := t.solve(s.ID); err == nil {
		return solve.Solve{}, fmt.Errorf("solve %s: the ID is taken", s.ID)
	}
	return solve.Solve{}, errAgain // it ended in between
}

func (t *tx) putLatest(s solve.Solve, issue int) error {
	_, err := t.do("insert into latest (repo, issue, solve) values ($1, $2, $3) on conflict (repo, issue) do update set solve = $3",
		s.Repo.ID, issue, s.ID)
	return err
}

// Commands returns the unanswered asks, oldest first, by ID among those of one instant.
func (s *Store) Commands(ctx context.Context) (out []solve.Command, err error) {
	err = s.view(ctx, func(t *tx) error {
		out, err = all[solve.Command](t, "select record from ask order by at, id")
		return err
	})
	return out, err
}

// Answer removes an ask and queues its effects.
func (s *Store) Answer(ctx context.Context, askID string, list []solve.Effect) error {
	return named(s.update(ctx, func(t *tx) error {
		n, err := t.do("delete from ask where id = $1", askID)
		if n == 0 || err != nil {
			return err
		}
		for _, e := range list {
			if err := t.want(e); err != nil {
				return err
			}
		}
		return nil
	}), "answer ask", askID)
}
