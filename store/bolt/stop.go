package bolt

import (
	"github.com/yudai-dev/yudai/solve"
)

// stop does what the solve's stop rule says after one of its runs ended or went back
// into the queue: the queued runs end that need not start, or the next wave begins. A
// solve that must end begins nothing.
func (c *change) stop() error {
	if rule := c.s.Plan.Stop; c.s.State != solve.StateRunning || rule == "" || rule == solve.StopAll {
		return nil
	}
	if c.t.count(countPending(string(c.s.ID))) == 0 {
		return nil
	}
	list, err := c.t.runsOf(c.s.ID)
	if err != nil {
		return err
	}
	wave, enough := c.s.Turn(list)
	if enough != "" {
		return c.endRuns(solve.Change{Reason: enough, Set: func(_ *solve.Solve, r *solve.Run) { r.NotNeeded = true }}, true)
	}
	due := !c.s.Deadline.IsZero() && !c.s.Deadline.After(c.at)
	if wave == c.s.Wave || due || !c.s.CancelAt.IsZero() {
		return nil
	}
	before, text := c.s.Wave, c.s.WaveText(wave)
	if c.s.Wave = wave; before == 0 {
		return nil // the first one
	}
	if err := c.note(0, solve.EventWave, string(c.s.State), string(c.s.State), text); err != nil {
		return err
	}
	return c.wantAll(solve.EffectsOf(c.s, nil, solve.EventWave))
}
