package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

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
	d.Received = s.at(d.Received)
	d.Payload = bytes.Clone(d.Payload)
	err = s.update(ctx, func(all *data) error {
		if _, known := all.deliveries[d.GUID]; known {
			return nil
		}
		set(all, all.deliveries, d.GUID, d)
		if about := d.AboutKey(); about != "" {
			if _, known := all.deliveries[about]; known {
				return nil
			}
			set(all, all.deliveries, about, solve.Delivery{GUID: about, Received: d.Received})
		}
		accepted = true
		return all.grant(d, w)
	})
	if err != nil {
		return false, fmt.Errorf("accept delivery %s: %w", d.GUID, err)
	}
	return accepted, nil
}

// grant stores what a delivery asks for.
func (d *data) grant(from solve.Delivery, w solve.Intent) error {
	ask, err := solve.Grant(from, w, d.insert)
	if ask != nil {
		set(d, d.asks, ask.ID, *ask)
	}
	return err
}

// Create stores a queued solve, or returns the one that stands for the same intent.
func (s *Store) Create(ctx context.Context, n solve.Solve) (stored solve.Solve, created bool, err error) {
	if err := solve.CheckNew(n); err != nil {
		return solve.Solve{}, false, fmt.Errorf("create solve: %w", err)
	}
	n.Created = s.at(n.Created)
	err = s.update(ctx, func(d *data) error {
		stored, created, err = d.insert(n)
		return err
	})
	if err != nil {
		return solve.Solve{}, false, fmt.Errorf("create solve %s: %w", n.ID, err)
	}
	return stored, created, nil
}

// insert stores a new solve, unless its trigger key is known or the issue has a
// live solve; then that one is returned.
func (d *data) insert(s solve.Solve) (stored solve.Solve, created bool, err error) {
	for _, old := range d.solves {
		if old.Trigger.Key == s.Trigger.Key {
			return private(old), false, nil
		}
	}
	for _, old := range d.solves {
		if !old.State.Final() && old.Repo.ID == s.Repo.ID && old.Issue.Number == s.Issue.Number {
			return private(old), false, nil
		}
	}
	if _, taken := d.solves[s.ID]; taken {
		return solve.Solve{}, false, fmt.Errorf("solve %s: the ID is taken", s.ID)
	}
	s = private(s.Queued())
	set(d, d.solves, s.ID, s)
	set(d, d.latest, issueKey{s.Repo.ID, s.Issue.Number}, s.ID)
	if p := s.Target(); p != nil {
		set(d, d.latest, issueKey{s.Repo.ID, p.Number}, s.ID)
	}
	return private(s), true, nil
}

// Commands returns the unanswered asks, oldest first, by ID among those of one instant.
func (s *Store) Commands(ctx context.Context) (out []solve.Command, err error) {
	err = s.view(ctx, func(d *data) error {
		for _, a := range d.asks {
			out = append(out, a)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b solve.Command) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return out, err
}

// Answer removes an ask and queues its effects.
func (s *Store) Answer(ctx context.Context, askID string, list []solve.Effect) error {
	return s.update(ctx, func(d *data) error {
		if _, known := d.asks[askID]; !known {
			return nil
		}
		delete(d.asks, askID)
		d.changed = true
		for _, e := range list {
			d.want(e)
		}
		return nil
	})
}
