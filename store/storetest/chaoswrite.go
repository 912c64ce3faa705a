package storetest

import (
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// write1 applies one event in the name of a holder, past or present.
func (c *chaos) write1() {
	g, any := c.grip()
	if !any {
		return
	}
	_, state := c.lease(g)
	ev := c.event(g, state)
	ch := solve.Change{Solve: g.id, Run: g.n, Token: g.token, Reason: "chaos", Event: ev}
	var want error
	var to string
	if g.n == 0 {
		next, err := solve.NextSolve(solve.State(state), solve.NameOf(ev))
		want, to = err, string(next)
		ch.Event = c.filled(ev)
	} else {
		next, err := solve.NextRun(solve.RunState(state), solve.NameOf(ev))
		want, to = err, string(next)
		if _, harvested := ev.(solve.Harvested); harvested && c.rnd.IntN(2) == 0 {
			ch.Event = solve.Harvested{Candidate: solve.Candidate{Refused: "chaos"}}
		}
	}
	switch {
	case !c.holds(g):
		c.refused(ch, solve.ErrLeaseLost)
	case want != nil:
		c.refused(ch, solve.ErrTransition)
	default:
		c.apply(ch)
		_, got := c.lease(g)
		if late := ev == solve.Event(solve.Requeued{}) && got == string(solve.RunCancelled); got != to && !late {
			c.Errorf("%T of %s/%d gave %s, want %s", ev, g.id, g.n, got, to)
		}
	}
}

// filled is the event with what it brings.
func (c *chaos) filled(ev solve.Event) solve.Event {
	switch ev.(type) {
	case solve.Claimed:
		limits := solve.Limits{Parallel: 2 * c.rnd.IntN(3), SolveTime: time.Duration(3*c.rnd.IntN(4)) * time.Minute}
		return solve.Claimed{Plan: solve.Plan{Limits: limits, Stop: append(solve.StopRules(), "")[c.rnd.IntN(4)]}}
	case solve.BaseReady:
		var list []solve.Run
		for n := range c.rnd.IntN(7) {
			list = append(list, solve.Run{N: n + 1, Experiment: solve.Experiment{Wave: 1 + n/2}})
		}
		return solve.BaseReady{Runs: list}
	default:
		return ev
	}
}

// event is one the table has for the state, except now and then. Ends are rarer than ways on.
func (c *chaos) event(g grip, state string) solve.Event {
	var list []solve.Event
	for _, ev := range Events() {
		var to string
		if s, err := solve.NextSolve(solve.State(state), solve.NameOf(ev)); g.n == 0 && err == nil {
			to = string(s)
		} else if r, err := solve.NextRun(solve.RunState(state), solve.NameOf(ev)); g.n > 0 && err == nil {
			to = string(r)
		} else {
			continue
		}
		ends := solve.State(to).Final() || solve.RunState(to).Final()
		if !ends || solve.NameOf(ev) == solve.EventPublished || state == string(solve.RunJudging) || c.rnd.IntN(20) == 0 {
			list = append(list, ev)
		}
	}
	if len(list) == 0 || c.rnd.IntN(10) == 0 {
		list = Events()
	}
	return list[c.rnd.IntN(len(list))]
}

func (c *chaos) stepAny() {
	if g, any := c.grip(); any && g.n > 0 {
		c.storeStep(g)
	}
	for range min(3, len(c.grips)) { // and some who lost their lease, likely
		if g := c.grips[c.rnd.IntN(len(c.grips))]; g.n > 0 {
			c.storeStep(g)
		}
	}
}

func (c *chaos) storeStep(g grip) {
	before := c.dump(g.id)
	line := fmt.Sprintf("%s %d\n", g.node, g.token)
	err := c.s.Step(c.ctx, g.id, g.n, g.token, []byte(line), solve.Progress{Steps: 1, At: c.now})
	if !c.holds(g) {
		c.is(err, solve.ErrLeaseLost)
		c.same(before, c.dump(g.id))
		return
	}
	c.ok(err)
	c.same(before.Transcripts[g.n]+line, c.transcript(g.id, g.n))
}
