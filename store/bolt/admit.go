package bolt

import (
	"context"

	"github.com/yudai-dev/yudai/solve"
)

// Admit dispatches queued runs to the node while there is room. It reads a small row of
// each running solve, unless as many runs work as the process may have; what waits in
// the queue and what is over costs nothing.
func (s *Store) Admit(ctx context.Context, node string, caps solve.Caps) ([]solve.Run, error) {
	return write(ctx, s, "admit", func(t *tx) (admitted []solve.Run, err error) {
		now := s.cfg.Now()
		if err := t.mustLive(node, now); err != nil {
			return nil, err
		}
		all, bySolve := t.working()
		if caps.Process > 0 && all >= caps.Process {
			return nil, nil
		}
		list, err := t.loads(bySolve)
		if err != nil {
			return nil, err
		}
		for i := solve.NextAdmission(list, caps, now); i >= 0; i = solve.NextAdmission(list, caps, now) {
			l := &list[i]
			after, err := solve.Admit(reader{t, now}, l.ID, l.N, node, now)
			if err == nil {
				err = t.write(after)
			}
			if err != nil {
				return nil, err
			}
			admitted = append(admitted, after.Run)
			l.Active++
			t.nextQueued(l)
		}
		return admitted, nil
	})
}
