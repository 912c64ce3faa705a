package storetest

import (
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// effectAny does a part of a write.
func (c *chaos) effectAny() {
	due := c.due()
	node := c.anyNode()
	if len(due) == 0 {
		return
	}
	e, err := c.s.ClaimEffect(c.ctx, due[c.rnd.IntN(len(due))].Key, node, 10*time.Second)
	if !c.asked(node, err) || c.rnd.IntN(8) == 0 { // the writer dies with its claim
		return
	}
	c.ok(c.s.SendingEffect(c.ctx, e.Key, e.Token))
	switch c.rnd.IntN(8) {
	case 0: // dies in the call
	case 1:
		c.ok(c.s.RetryEffect(c.ctx, e.Key, e.Token, 5*time.Second, "chaos", c.rnd.IntN(2) == 0))
	case 2:
		c.ok(c.s.KillEffect(c.ctx, e.Key, e.Token, "chaos"))
	default:
		c.ok(c.s.FinishEffect(c.ctx, e.Key, e.Token, e.Wanted, solve.Receipt{ID: 1}))
	}
	c.is(c.s.FinishEffect(c.ctx, e.Key, e.Token-1, e.Wanted, solve.Receipt{}), solve.ErrLeaseLost)
}

// invariants hold after every operation.
func (c *chaos) invariants() {
	c.Helper()
	c.checkCaps(c.caps)
	for _, id := range c.ids {
		d := c.dump(id)
		if was, over := c.final[id]; over {
			was.Effects, d.Effects = nil, nil // these go on
			c.same(was, d)
			continue
		}
		c.replay(d)
		c.finished(d)
		c.kept(d)
		if d.Solve.State.Final() {
			c.final[id] = d
		}
	}
}

// replay runs the events through the table: they must be gapless and lead to the records.
func (c *chaos) replay(d Dump) {
	c.Helper()
	state, runs, reduced := solve.StateQueued, map[int]solve.RunState{}, 0
	for i, e := range d.Events {
		if e.Seq != uint64(i+1) {
			c.Errorf("solve %s: event %d has number %d", d.Solve.ID, i+1, e.Seq)
		}
		if e.Event == solve.EventRunsEnded {
			reduced++
		}
		from, to, err := string(state), "", error(nil)
		if e.Run == 0 {
			state, err = solve.NextSolve(state, e.Event)
			to = string(state)
		} else {
			was, known := runs[e.Run]
			if !known {
				was = solve.RunQueued
			}
			from = string(was)
			runs[e.Run], err = solve.NextRun(was, e.Event)
			to = string(runs[e.Run])
		}
		if err != nil || e.From != from || e.To != to {
			c.Errorf("solve %s: event %+v in state %s: %v", d.Solve.ID, e, from, err)
		}
	}
	if state != d.Solve.State || d.Solve.Seq != uint64(len(d.Events)) || reduced > 1 {
		c.Errorf("solve %s is %s at event %d, its %d events say %s; reduced %d times",
			d.Solve.ID, d.Solve.State, d.Solve.Seq, len(d.Events), state, reduced)
	}
	for _, r := range d.Runs {
		if want, known := runs[r.N]; known && want != r.State {
			c.Errorf("run %s/%d is %s, its events say %s", r.Solve, r.N, r.State, want)
		}
	}
}

// finished checks what final states imply.
func (c *chaos) finished(d Dump) {
	c.Helper()
	open := 0
	for _, r := range d.Runs {
		if !r.State.Final() {
			open++
		}
		if r.State.Active() != (r.Lease.Node != "") || r.State.Final() == r.Ended.IsZero() {
			c.Errorf("run %+v", r)
		}
	}
	s := d.Solve
	if s.State.Final() && (open > 0 || s.Lease.Node != "" || s.Ended.IsZero()) {
		c.Errorf("ended solve %+v has %d unfinished runs", s, open)
	}
	if s.State == solve.StateRunning && len(d.Runs) > 0 && open == 0 {
		c.Errorf("solve %s is running after its last run", s.ID)
	}
	c.waves(d)
	if s.State == solve.StateReducing && open > 0 {
		c.Errorf("solve %s is reducing with %d unfinished runs", s.ID, open)
	}
}

// waves checks what the stop rule promises of a solve.
func (c *chaos) waves(d Dump) {
	c.Helper()
	s, passed, least := d.Solve, slices.ContainsFunc(d.Runs, solve.Eligible), firstOpen(d.Runs)
	running, waves := s.State == solve.StateRunning, s.Plan.Stop == solve.StopWaves
	over := waves && least > s.Wave // the wave is, and not all of the solve
	enough := passed && (s.Plan.Stop == solve.StopFirstGreen || over)
	for _, r := range d.Runs {
		late := waves && r.Experiment.Wave > s.Wave && r.State.Active()
		waits := running && enough && r.State == solve.RunQueued
		if late || waits || r.NotNeeded && (!passed || r.State != solve.RunCancelled) {
			c.Errorf("run %d of wave %d is %s in wave %d under %q; passed %v", r.N, r.Experiment.Wave, r.State, s.Wave, s.Plan.Stop, passed)
		}
	}
	must := !s.CancelAt.IsZero() || !s.Deadline.IsZero() && !s.Deadline.After(c.now)
	if running && over && !must {
		c.Errorf("solve %s stands in wave %d, its next run is of wave %d", s.ID, s.Wave, least)
	}
}

// firstOpen is the lowest wave of the runs that have not ended, 0 if all have.
func firstOpen(runs []solve.Run) (wave int) {
	for _, r := range runs {
		if !r.State.Final() && (wave == 0 || r.Experiment.Wave < wave) {
			wave = r.Experiment.Wave
		}
	}
	return wave
}

// kept checks that no wanted effect is forgotten.
func (c *chaos) kept(d Dump) {
	c.Helper()
	have := map[string]bool{}
	for _, e := range d.Effects {
		have[e.Key] = true
		if e.Wanted < c.wanted[e.Key] || e.State == solve.EffectApplied && e.Applied < e.Wanted {
			c.Errorf("effect %+v, version %d was wanted", e, c.wanted[e.Key])
		}
		c.wanted[e.Key] = e.Wanted
	}
	for _, e := range d.Events {
		var run *solve.Run
		if e.Run > 0 {
			run = &d.Runs[e.Run-1]
		}
		if run == nil && d.Solve.State.Final() {
			continue // an earlier event's effects were named by the record of then
		}
		for _, want := range solve.EffectsOf(d.Solve, run, e.Event) {
			if !have[want.Key] {
				c.Errorf("event %s left no effect %s", e.Event, want.Key)
			}
		}
	}
}

// finish lets a new node do all that is left: nothing may be stuck.
func (c *chaos) finish() {
	c.Helper()
	c.now = c.now.Add(time.Minute) // all others are dead
	node := c.node("last")
	c.nodes[node] = c.now.Add(time.Hour)
	for range 1000 {
		if len(c.live()) == 0 {
			break
		}
		list, err := c.s.Rescue(c.ctx, node)
		c.ok(err)
		for _, r := range append(list, c.admit(node, c.caps)...) {
			c.apply(solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: solve.Aborted{}})
		}
		if s, err := c.s.ClaimSolve(c.ctx, node); err == nil {
			c.apply(solve.Change{Solve: s.ID, Token: s.Lease.Token, Event: solve.Aborted{}})
		}
	}
	c.same(0, len(c.live()))
	c.now = c.now.Add(30 * time.Second)
	for _, e := range c.due() {
		c.write(node, e.Key)
	}
	for _, id := range c.ids {
		for _, e := range c.dump(id).Effects {
			if e.State != solve.EffectApplied && e.State != solve.EffectDead {
				c.Errorf("effect %+v was never due", e)
			}
		}
	}
	c.invariants()
}
