package bolt

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Admit dispatches queued runs to the node while there is room. The cost is that
// of the runs admitted, not of those that wait.
func (s *Store) Admit(ctx context.Context, node string, now time.Time, caps solve.Caps) ([]solve.Run, error) {
	var admitted []solve.Run
	err := s.update(ctx, "admit", func(t *tx) error {
		admitted = nil
		if err := t.mustLive(node, now); err != nil {
			return err
		}
		passed := map[solve.ID]bool{} // solves that lost their turn
		for {
			id, err := t.nextTurn(caps)
			if err != nil || id == "" {
				return err
			}
			if passed[id] {
				return fmt.Errorf("solve %s has its turn again and starts no run: the index is damaged", id)
			}
			r, err := t.admit(id, node, now)
			if err != nil {
				return err
			}
			if r.N == 0 {
				passed[id] = true
				continue
			}
			admitted = append(admitted, r)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("admit runs: %w", err)
	}
	return admitted, nil
}

// nextTurn names the solve whose run is next, "" if there is no room or no run.
func (t *tx) nextTurn(caps solve.Caps) (solve.ID, error) {
	if caps.Process > 0 && t.count(countProcess()) >= caps.Process {
		return "", nil
	}
	var next solve.ID
	// Installations stand in the order of their best repository; only those
	// that are full are passed over.
	err := t.scan(readyInsts, nil, func(k, v []byte) (bool, error) {
		running := int(num(append(make([]byte, 4), k[:4]...)))
		if caps.Repository > 0 && running >= caps.Repository {
			return false, nil // and all that follow have as many
		}
		inst := int64(num(k[len(k)-8:]))
		if caps.Installation > 0 && t.count(countInst(inst)) >= caps.Installation {
			return true, nil
		}
		next = solve.ID(v)
		return false, nil
	})
	return next, err
}

// admit dispatches the solve's first queued run. A solve that became due
// since it was indexed only loses its turn: the run is zero then.
func (t *tx) admit(id solve.ID, node string, now time.Time) (solve.Run, error) {
	s, err := t.solve(id)
	if err != nil {
		return solve.Run{}, err
	}
	if s.Overdue(now) {
		return solve.Run{}, t.index(&s, now)
	}
	k, _ := t.first(queued, key(nil).text(string(id)))
	if k == nil {
		return solve.Run{}, fmt.Errorf("solve %s is ready without a queued run: the index is damaged", id)
	}
	_, n := placeOf(k)
	after, err := solve.Admit(reader{t, now}, id, n, node, now)
	if err != nil {
		return solve.Run{}, err
	}
	return after.Run, t.write(after, now)
}
