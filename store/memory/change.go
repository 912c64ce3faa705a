package memory

import (
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// reader is what the rules read, see [solve.Reader].
type reader struct {
	*data
	at time.Time
}

func (r reader) Solve(id solve.ID) (solve.Solve, error)    { return r.solve(id) }
func (r reader) Run(id solve.ID, n int) (solve.Run, error) { return r.run(id, n) }
func (r reader) Runs(id solve.ID) ([]solve.Run, error)     { return r.runsOf(id), nil }
func (r reader) Alive(node string) bool                    { return r.alive(node, r.at) }

// Unfinished implements [solve.Reader].
func (r reader) Unfinished(id solve.ID, _ int) int {
	return len(r.runsWhere(func(one solve.Run) bool { return one.Solve == id && !one.State.Final() }))
}

// write stores everything that follows from an event.
func (d *data) write(all *solve.Transition) {
	s := all.Solve
	if s.State.Final() && len(all.Entries) == 0 {
		return // it ended before
	}
	set(d, d.solves, s.ID, private(s))
	for _, c := range all.Runs {
		d.putRun(c.After)
	}
	set(d, d.events, s.ID, append(slices.Clip(d.events[s.ID]), all.Entries...))
	for _, e := range all.Effects {
		d.want(e)
	}
	d.learn(all.Learned)
	if s.Pull != nil {
		set(d, d.latest, issueKey{s.Repo.ID, s.Pull.Number}, s.ID)
	}
}
