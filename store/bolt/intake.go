package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// Accept stores a delivery and what follows from it. Payloads are keyed by their
// time, so that a commit of many deliveries is mostly one piece of the file.
func (s *Store) Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	if err := d.Check(); err != nil {
		return false, err
	}
	d.Received = s.at(d.Received)
	if w.Solve != nil {
		if err := solve.CheckNew(*w.Solve); err != nil {
			return false, fmt.Errorf("accept delivery %s: %w", d.GUID, err)
		}
	}
	row, err := deliveryRow(d)
	if err != nil {
		return false, err
	}
	k, at := guidKey(d.GUID), key(nil).time(d.Received)
	accepted, err := write(ctx, s, "accept", func(t *tx) (bool, error) {
		if t.get(deliveries, k) != nil {
			return false, nil
		}
		t.put(deliveries, k, at)
		t.put(payloads, append(bytes.Clone(at), k...), row)
		if about := d.AboutKey(); about != "" {
			if t.get(deliveries, []byte(about)) != nil {
				return false, nil
			}
			t.put(deliveries, []byte(about), at)
			t.put(payloads, append(bytes.Clone(at), about...), nil) // goes when the delivery goes
		}
		a, err := solve.Grant(d, w, t.insert)
		if err == nil && a != nil {
			err = t.putRecord(asks, []byte(a.ID), "ask "+a.ID, askRecord{V: recordVersion, Command: *a})
		}
		return true, err
	})
	return accepted, named(err, "delivery", d.GUID)
}

// named says which record an error is about.
func named(err error, what, id string) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, id, err)
	}
	return nil
}

// Create stores a queued solve, or returns the one that stands for the same intent.
func (s *Store) Create(ctx context.Context, n solve.Solve) (stored solve.Solve, created bool, err error) {
	if err := solve.CheckNew(n); err != nil {
		return solve.Solve{}, false, fmt.Errorf("create solve: %w", err)
	}
	n.Created = s.at(n.Created)
	stored, err = write(ctx, s, "create", func(t *tx) (stored solve.Solve, err error) {
		stored, created, err = t.insert(n)
		return stored, err
	})
	return stored, created && err == nil, named(err, "solve", string(n.ID))
}

// insert stores a new solve, unless its trigger key is known or the issue has a
// live solve; then that one is returned.
func (t *tx) insert(s solve.Solve) (stored solve.Solve, created bool, err error) {
	issue := issueKey(s.Repo.ID, s.Issue.Number)
	for _, known := range [][]byte{t.get(byTrigger, []byte(s.Trigger.Key)), t.get(liveIssue, issue)} {
		if known != nil {
			old, err := t.solve(solve.ID(known))
			return old, false, err
		}
	}
	if t.get(solves, []byte(s.ID)) != nil {
		return solve.Solve{}, false, fmt.Errorf("solve %s: the ID is taken", s.ID)
	}
	s = s.Queued()
	data, err := encodeSolve(s)
	if err != nil {
		return solve.Solve{}, false, err
	}
	t.put(solves, []byte(s.ID), data)
	t.put(byTrigger, []byte(s.Trigger.Key), []byte(s.ID))
	t.put(byIssue, issue, []byte(s.ID))
	if p := s.Target(); p != nil { // asked about there, too
		t.put(byIssue, issueKey(s.Repo.ID, p.Number), []byte(s.ID))
	}
	return s, true, t.index(&s)
}

// Commands returns the unanswered asks, oldest first.
func (s *Store) Commands(ctx context.Context) (out []solve.Command, err error) {
	list, err := read(ctx, s, func(t *tx) ([]askRecord, error) {
		return decodeAll[askRecord](t, func(k []byte) string { return "ask " + string(k) }, asks, nil)
	})
	for _, r := range list {
		out = append(out, r.Command)
	}
	slices.SortStableFunc(out, func(a, b solve.Command) int { return a.At.Compare(b.At) })
	return out, err
}

// Answer removes an ask and queues its effects.
func (s *Store) Answer(ctx context.Context, askID string, list []solve.Effect) error {
	err := s.update(ctx, "answer", func(t *tx) error {
		if t.get(asks, []byte(askID)) == nil {
			return nil
		}
		t.del(asks, []byte(askID))
		for _, e := range list {
			if err := t.want(e); err != nil {
				return err
			}
		}
		return nil
	})
	return named(err, "ask", askID)
}
