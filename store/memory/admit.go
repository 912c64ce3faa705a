package memory

import (
	"context"

	"github.com/yudai-dev/yudai/solve"
)

// Admit dispatches queued runs to the node while there is room.
func (s *Store) Admit(ctx context.Context, node string, caps solve.Caps) (admitted []solve.Run, err error) {
	now := s.now()
	err = s.update(ctx, func(d *data) error {
		if !d.alive(node, now) {
			return lost("admit runs: node %q", node)
		}
		for {
			list := d.loads()
			next := solve.NextAdmission(list, caps, now)
			if next < 0 {
				return nil
			}
			after, err := solve.Admit(reader{d, now}, list[next].ID, list[next].N, node, now)
			if err != nil {
				return err
			}
			d.write(after)
			admitted = append(admitted, after.Run)
		}
	})
	if err != nil {
		return nil, err
	}
	return admitted, nil
}

// loads are the running solves with their runs at work.
func (d *data) loads() (out []solve.Load) {
	for _, s := range d.live() {
		if s.State != solve.StateRunning {
			continue
		}
		l := solve.Load{Brief: s.Brief()}
		for _, r := range d.runsOf(s.ID) {
			if r.State.Active() {
				l.Active++
			}
			if r.State == solve.RunQueued && (l.N == 0 || r.Experiment.Wave < l.Wave) {
				l.Wave, l.N = r.Experiment.Wave, r.N
			}
		}
		out = append(out, l)
	}
	return out
}
