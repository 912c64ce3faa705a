package bolt

import (
	"bytes"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
)

// change is one solve being changed in a transaction. It is the only code that
// assigns a state: table, record, event, effects and indexes go together.
type change struct {
	t   *tx
	at  time.Time
	s   solve.Solve
	raw []byte // the record as it was read
	seq uint64
}

// open reads the solve to be changed; end writes it.
func (t *tx) open(id solve.ID, at time.Time) (*change, error) {
	raw := bytes.Clone(t.get(solves, []byte(id)))
	if raw == nil {
		return nil, fmt.Errorf("solve %q: %w", id, solve.ErrNotFound)
	}
	s, err := t.decodeSolve(id, raw)
	if err != nil {
		return nil, err
	}
	return &change{t: t, at: at, s: s, raw: raw, seq: s.Seq}, nil
}

// end writes the solve, if it changed, and its indexes.
func (c *change) end() error {
	data, err := encodeSolve(c.s)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, c.raw) {
		c.t.put(solves, []byte(c.s.ID), data)
	}
	if c.s.Seq != c.seq {
		c.t.put(sequences, []byte(c.s.ID), key(nil).num(c.s.Seq))
	}
	return c.t.index(&c.s, c.at)
}

// fence refuses a writer who is not the record's living owner. Token 0 is no
// owner's and passes.
func (t *tx) fence(l solve.Lease, token uint64, at time.Time) error {
	if token == 0 || failpoint.Mutated(failpoint.NoTokenCheck) {
		return nil
	}
	if l.Token != token {
		return fmt.Errorf("token %d, newest is %d: %w", token, l.Token, solve.ErrLeaseLost)
	}
	if l.Node == "" {
		return fmt.Errorf("token %d was given up: %w", token, solve.ErrLeaseLost)
	}
	return t.mustLive(l.Node, at)
}

// note appends an event to the solve's log.
func (c *change) note(run int, ev solve.Event, from, to, reason string) error {
	c.s.Seq++
	data, err := encode("event", entryRecord{V: recordVersion, Entry: solve.Entry{
		Solve: c.s.ID, Seq: c.s.Seq, At: c.at, Run: run, Event: ev, From: from, To: to, Reason: reason,
	}})
	if err != nil {
		return err
	}
	c.t.put(events, key(nil).text(string(c.s.ID)).num(c.s.Seq), data)
	return nil
}

func (c *change) wantAll(list []solve.Effect) error {
	for _, e := range list {
		if err := c.t.want(e, c.at); err != nil {
			return err
		}
	}
	return nil
}

// set lets the caller change fields, but none that the store answers for.
func (c *change) set(fn func(*solve.Solve, *solve.Run), r *solve.Run) {
	if fn == nil {
		return
	}
	s := c.s
	var before solve.Run
	if r != nil {
		before = *r
	}
	fn(&c.s, r)
	c.s.V, c.s.ID, c.s.Seq, c.s.State, c.s.Lease = s.V, s.ID, s.Seq, s.State, s.Lease
	c.s.Created, c.s.Ended, c.s.Trigger.Key, c.s.Issue.Number = s.Created, s.Ended, s.Trigger.Key, s.Issue.Number
	c.s.Repo.ID, c.s.Repo.Installation, c.s.Wave = s.Repo.ID, s.Repo.Installation, s.Wave
	if !s.Started.IsZero() {
		c.s.Started = s.Started // a solve starts once
	}
	if r != nil {
		r.V, r.Solve, r.N, r.State, r.Lease, r.Repo = before.V, before.Solve, before.N, before.State, before.Lease, before.Repo
		r.Created, r.Ended = before.Created, before.Ended
	}
}

// moveRun applies an event to a run. lease changes the owner in the same step; nil keeps it.
func (c *change) moveRun(r solve.Run, ch solve.Change, lease func(*solve.Run)) (solve.Run, error) {
	old := r
	to, err := solve.NextRun(r.State, ch.Event)
	if err != nil {
		return r, fmt.Errorf("run %d of solve %s: %w", r.N, r.Solve, err)
	}
	c.set(ch.Set, &r)
	r.State = to
	if lease != nil {
		lease(&r)
	}
	if ch.Release || to.Final() || to == solve.RunQueued {
		r.Lease.Node = ""
	}
	if to.Final() {
		r.Ended, r.Reason = c.at, ch.Reason
	}
	if err := c.t.putRun(&old, r); err != nil {
		return r, err
	}
	if err := c.note(r.N, ch.Event, string(old.State), string(to), ch.Reason); err != nil {
		return r, err
	}
	return r, c.wantAll(solve.EffectsOf(c.s, &r, ch.Event))
}

// settle moves the solve on if its last run has ended, and asks the stop rule before.
func (c *change) settle() error {
	if err := c.stop(); err != nil {
		return err
	}
	if c.s.State != solve.StateRunning || c.t.count(countPending(string(c.s.ID))) > 0 {
		return nil
	}
	if c.s.CancelAt.IsZero() {
		return c.moveSolve(solve.Change{Event: solve.EventRunsEnded})
	}
	return c.moveSolve(solve.Change{Event: solve.EventCancelled, Reason: c.cancelReason()})
}

func (c *change) cancelReason() string {
	switch {
	case c.s.CancelWhy != "":
		return c.s.CancelWhy
	case c.s.CancelBy == "":
		return "cancelled"
	default:
		return "cancelled by " + c.s.CancelBy
	}
}

// moveSolve applies an event to the solve, creates its runs, and ends those that
// a final state leaves unfinished.
func (c *change) moveSolve(ch solve.Change) error {
	from, started := c.s.State, c.s.Started
	to, err := solve.NextSolve(from, ch.Event)
	if err != nil {
		return fmt.Errorf("solve %s: %w", c.s.ID, err)
	}
	if ch.Event == solve.EventRunsEnded && c.t.count(countPending(string(c.s.ID))) > 0 {
		return fmt.Errorf("solve %s has unfinished runs: %w", c.s.ID, solve.ErrTransition)
	}
	if ch.Event == solve.EventWave {
		return fmt.Errorf("solve %s: only the store begins a wave: %w", c.s.ID, solve.ErrTransition)
	}
	c.set(ch.Set, nil)
	c.s.State = to
	if ch.Release || to.Final() {
		c.s.Lease.Node = ""
	}
	if err := c.create(ch.Runs); err != nil {
		return err
	}
	if p := c.s.Pull; p != nil { // its number is one of the repository's issues, too
		c.t.put(byIssue, issueKey(c.s.Repo.ID, p.Number), []byte(c.s.ID))
	}
	if to.Final() {
		c.s.Ended, c.s.Reason = c.at, ch.Reason
		c.t.put(ended, key(nil).time(c.at).text(string(c.s.ID)), []byte(c.s.ID))
		if err := c.endRuns(solve.Change{Event: ch.Event, Reason: ch.Reason}, false); err != nil {
			return err
		}
	}
	if to.Final() || started.IsZero() {
		if err := c.t.book(&c.s); err != nil {
			return err
		}
	}
	if err := c.note(0, ch.Event, string(from), string(to), ch.Reason); err != nil {
		return err
	}
	if err := c.wantAll(solve.EffectsOf(c.s, nil, ch.Event)); err != nil || len(ch.Runs) == 0 {
		return err
	}
	return c.settle() // all of them may have been carried over
}

func (c *change) create(list []solve.Run) error {
	for _, r := range list {
		if r.N < 1 || c.t.get(runs, runKey(c.s.ID, r.N)) != nil {
			return fmt.Errorf("create run %d of solve %s: the number is taken or not positive", r.N, c.s.ID)
		}
		if w := r.Experiment.Wave; w < 0 || w > maxWave || r.N > maxRun {
			return fmt.Errorf("create run %d in wave %d of solve %s: the number is too large", r.N, w, c.s.ID)
		}
		r.V, r.Solve, r.Repo, r.Lease = recordVersion, c.s.ID, c.s.Repo, solve.Lease{}
		if r.From == nil || !r.State.Final() {
			r.State = solve.RunQueued
		}
		if r.Created.IsZero() {
			r.Created = c.at
		}
		if err := c.t.putRun(nil, r); err != nil {
			return err
		}
	}
	return nil
}

// endRuns ends the unfinished runs, or only the queued ones, and fences their workers.
func (c *change) endRuns(ch solve.Change, queuedOnly bool) error {
	if c.t.count(countPending(string(c.s.ID))) == 0 {
		return nil
	}
	list, err := c.t.runsOf(c.s.ID)
	if err != nil {
		return err
	}
	end := solve.Change{Event: solve.EventCancelled, Reason: ch.Reason, Set: ch.Set}
	if ch.Event == solve.EventExpired {
		end.Event = solve.EventTimedOut
	}
	for _, r := range list {
		if r.State.Final() || queuedOnly && r.State != solve.RunQueued {
			continue
		}
		if _, err := c.moveRun(r, end, func(r *solve.Run) { r.Lease.Token++ }); err != nil {
			return err
		}
	}
	return nil
}
