package bolt

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// Admit dispatches queued runs to the node while there is room. It reads a small row of
// each running solve, unless as many runs work as the process may have; what waits in
// the queue and what is over costs nothing.
func (s *Store) Admit(ctx context.Context, node string, caps solve.Caps) ([]solve.Run, error) {
	var admitted []solve.Run
	err := s.update(ctx, "admit", func(t *tx) (err error) {
		admitted = nil
		now := s.cfg.Now()
		if err := t.mustLive(node, now); err != nil {
			return err
		}
		all, bySolve, err := t.working()
		if err != nil || caps.Process > 0 && all >= caps.Process {
			return err
		}
		list, err := t.loads(bySolve)
		if err != nil {
			return err
		}
		for i := solve.NextAdmission(list, caps, now); i >= 0; i = solve.NextAdmission(list, caps, now) {
			l := &list[i]
			after, err := solve.Admit(reader{t, now}, l.ID, l.N, node, now)
			if err != nil {
				return err
			}
			if err := t.write(after, now); err != nil {
				return err
			}
			admitted = append(admitted, after.Run)
			l.Active++
			t.nextQueued(l)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("admit runs: %w", err)
	}
	return admitted, nil
}
