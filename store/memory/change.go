package memory

import (
	"fmt"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// change is one solve being changed. It is the only code that assigns a state.
type change struct {
	d  *data
	at time.Time
	s  solve.Solve
}

func (d *data) open(id solve.ID, at time.Time) (*change, error) {
	s, err := d.solve(id)
	return &change{d: d, at: at, s: s}, err
}

// end stores the solve and returns it.
func (c *change) end() solve.Solve {
	set(c.d, c.d.solves, c.s.ID, private(c.s))
	return c.s
}

// note appends an event to the solve's log.
func (c *change) note(run int, ev solve.Event, from, to, reason string) {
	c.s.Seq++
	entry := solve.Entry{Solve: c.s.ID, Seq: c.s.Seq, At: c.at, Run: run, Event: ev, From: from, To: to, Reason: reason}
	set(c.d, c.d.events, c.s.ID, append(slices.Clip(c.d.events[c.s.ID]), entry))
}

// set lets the caller change fields, but none that the store answers for.
func (c *change) set(fn func(*solve.Solve, *solve.Run), r *solve.Run) {
	if fn == nil {
		return
	}
	was := c.s
	var wasRun solve.Run
	if r != nil {
		wasRun = *r
	}
	fn(&c.s, r)
	c.s.V, c.s.ID, c.s.State, c.s.Lease, c.s.Seq = was.V, was.ID, was.State, was.Lease, was.Seq
	c.s.Repo.ID, c.s.Repo.Installation, c.s.Issue.Number = was.Repo.ID, was.Repo.Installation, was.Issue.Number
	c.s.Trigger.Key, c.s.Created, c.s.Ended, c.s.Wave = was.Trigger.Key, was.Created, was.Ended, was.Wave
	if !was.Started.IsZero() {
		c.s.Started = was.Started
	}
	if r != nil {
		r.V, r.Solve, r.N, r.State, r.Lease = wasRun.V, wasRun.Solve, wasRun.N, wasRun.State, wasRun.Lease
		r.Repo, r.Created, r.Ended = wasRun.Repo, wasRun.Created, wasRun.Ended
	}
}

// moveRun applies an event to a run. lease changes the owner in the same step; nil keeps it.
func (c *change) moveRun(r solve.Run, ch solve.Change, lease func(*solve.Run)) (solve.Run, error) {
	from := r.State
	to, err := solve.NextRun(from, ch.Event)
	if err != nil {
		return r, err
	}
	c.set(ch.Set, &r)
	r.State = to
	if lease != nil {
		lease(&r)
	}
	if ch.Release || !to.Active() {
		r.Lease.Node = ""
	}
	if to.Final() {
		r.Ended, r.Reason = c.at, ch.Reason
	}
	c.d.putRun(r)
	c.note(r.N, ch.Event, string(from), string(to), ch.Reason)
	c.wantAll(&r, ch.Event)
	return r, nil
}

func (c *change) wantAll(r *solve.Run, ev solve.Event) {
	for _, e := range solve.EffectsOf(c.s, r, ev) {
		c.d.want(e, c.at)
	}
}

// settle moves the solve on if its last run has ended, and asks the stop rule before.
func (c *change) settle() error {
	if err := c.stop(); err != nil {
		return err
	}
	switch {
	case c.s.State != solve.StateRunning || c.d.unfinished(c.s.ID) > 0:
		return nil
	case c.s.CancelAt.IsZero():
		return c.moveSolve(solve.Change{Event: solve.EventRunsEnded})
	default:
		return c.moveSolve(solve.Change{Event: solve.EventCancelled, Reason: c.cancelReason()})
	}
}

// stop does what the stop rule says: the queued runs end that need not start, or the
// next wave begins. Nothing begins any more for a solve that must end.
func (c *change) stop() error {
	if c.s.State != solve.StateRunning {
		return nil
	}
	wave, enough := c.s.Turn(c.d.runsOf(c.s.ID))
	if enough != "" {
		end := solve.Change{Event: solve.EventCancelled, Reason: enough, Set: func(_ *solve.Solve, r *solve.Run) { r.NotNeeded = true }}
		return c.endRuns(end, func(r solve.Run) bool { return r.State == solve.RunQueued })
	}
	if wave == c.s.Wave || !c.s.CancelAt.IsZero() || due(c.s, c.at) {
		return nil
	}
	first, text := c.s.Wave == 0, c.s.WaveText(wave)
	c.s.Wave = wave
	if !first {
		c.note(0, solve.EventWave, string(c.s.State), string(c.s.State), text)
		c.wantAll(nil, solve.EventWave)
	}
	return nil
}

func (c *change) cancelReason() string {
	if c.s.CancelWhy != "" {
		return c.s.CancelWhy
	}
	if c.s.CancelBy == "" {
		return "cancelled"
	}
	return "cancelled by " + c.s.CancelBy
}

// moveSolve applies an event to the solve, creates its runs, and ends those that
// a final state leaves unfinished.
func (c *change) moveSolve(ch solve.Change) error {
	from := c.s.State
	to, err := solve.NextSolve(from, ch.Event)
	if err != nil {
		return err
	}
	if ch.Event == solve.EventRunsEnded && c.d.unfinished(c.s.ID) > 0 {
		return fmt.Errorf("runs are unfinished: %w", solve.ErrTransition)
	}
	if ch.Event == solve.EventWave {
		return fmt.Errorf("waves begin by themselves: %w", solve.ErrTransition)
	}
	c.set(ch.Set, nil)
	c.s.State = to
	if ch.Release || to.Final() {
		c.s.Lease.Node = ""
	}
	if err := c.create(ch.Runs); err != nil {
		return err
	}
	if c.s.Pull != nil {
		set(c.d, c.d.latest, issueKey{c.s.Repo.ID, c.s.Pull.Number}, c.s.ID)
	}
	if to.Final() {
		c.s.Ended, c.s.Reason = c.at, ch.Reason
		end := solve.Change{Event: solve.EventCancelled, Reason: ch.Reason}
		if ch.Event == solve.EventExpired {
			end.Event = solve.EventTimedOut
		}
		if err := c.endRuns(end, func(solve.Run) bool { return true }); err != nil {
			return err
		}
	}
	c.note(0, ch.Event, string(from), string(to), ch.Reason)
	c.wantAll(nil, ch.Event)
	if len(ch.Runs) > 0 {
		return c.settle()
	}
	return nil
}

func (c *change) create(list []solve.Run) error {
	for _, r := range list {
		if _, taken := c.d.runs[runKey{c.s.ID, r.N}]; taken || r.N < 1 {
			return fmt.Errorf("create run %d: the number is taken or not positive", r.N)
		}
		carried := r.From != nil && r.State.Final()
		if !carried {
			r.State = solve.RunQueued
		}
		r.V, r.Solve, r.Repo, r.Lease = recordVersion, c.s.ID, c.s.Repo, solve.Lease{}
		if r.Created.IsZero() {
			r.Created = c.at
		}
		c.d.putRun(r)
	}
	return nil
}

// endRuns ends the unfinished runs that fit, and fences their workers.
func (c *change) endRuns(ch solve.Change, fits func(solve.Run) bool) error {
	for _, r := range c.d.runsOf(c.s.ID) {
		if r.State.Final() || !fits(r) {
			continue
		}
		if _, err := c.moveRun(r, ch, func(r *solve.Run) { r.Lease.Token++ }); err != nil {
			return err
		}
	}
	return nil
}
