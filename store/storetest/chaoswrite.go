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
	ch := solve.Change{Solve: g.id, Run: g.n, Token: g.token, Event: ev, At: c.now, Reason: "chaos"}
	var want error
	var to string
	if g.n == 0 {
		next, err := solve.NextSolve(solve.State(state), ev)
		want, to = err, string(next)
		if ev == solve.EventRunsEnded && c.unfinished(g.id) > 0 || ev == solve.EventWave {
			want = solve.ErrTransition
		}
		ch.Set = c.plan(ev)
		if ev == solve.EventBaseReady {
			ch.Release = true
			for n := range c.rnd.IntN(7) {
				ch.Runs = append(ch.Runs, solve.Run{N: n + 1, Experiment: solve.Experiment{Wave: 1 + n/2}})
			}
		}
	} else {
		next, err := solve.NextRun(solve.RunState(state), ev)
		want, to = err, string(next)
		if ev == solve.EventPassed && c.rnd.IntN(2) == 0 {
			ch.Set = func(_ *solve.Solve, r *solve.Run) {
				r.Candidate, r.Verdict = &solve.Candidate{}, &solve.Verdict{Outcome: solve.Passed}
			}
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
		if late := ev == solve.EventRequeued && got == string(solve.RunCancelled); got != to && !late {
			c.Errorf("%s of %s/%d gave %s, want %s", ev, g.id, g.n, got, to)
		}
	}
}

func (c *chaos) unfinished(id solve.ID) (n int) {
	for _, r := range c.dump(id).Runs {
		if !r.State.Final() {
			n++
		}
	}
	return n
}

func (c *chaos) plan(ev solve.Event) func(*solve.Solve, *solve.Run) {
	parallel, minutes := 2*c.rnd.IntN(3), 3*c.rnd.IntN(4)
	rule := append(solve.StopRules(), "")[c.rnd.IntN(4)]
	return func(s *solve.Solve, _ *solve.Run) {
		if ev != solve.EventClaimed {
			return
		}
		s.Started, s.Plan.Limits.Parallel, s.Plan.Stop = c.now, parallel, rule
		if minutes > 0 {
			s.Deadline = c.now.Add(time.Duration(minutes) * time.Minute)
		}
	}
}

// event is one the table has for the state, except now and then. Ends are rarer than ways on.
func (c *chaos) event(g grip, state string) solve.Event {
	var list []solve.Event
	for _, s := range solve.SolveSteps() {
		if g.n == 0 && string(s.From) == state && (!s.To.Final() || s.On == solve.EventPublished || c.rnd.IntN(20) == 0) {
			list = append(list, s.On)
		}
	}
	for _, s := range solve.RunSteps() {
		if g.n > 0 && string(s.From) == state && (!s.To.Final() || s.From == solve.RunJudging || c.rnd.IntN(20) == 0) {
			list = append(list, s.On)
		}
	}
	if len(list) == 0 || c.rnd.IntN(10) == 0 {
		list = solve.Events()
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
