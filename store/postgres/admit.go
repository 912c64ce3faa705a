package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// queue is a load with all its queued runs, in the order of their start.
type queue struct {
	load   solve.Load
	queued []int32 // wave and number, see waveBits
}

const waveBits = 16

// Admit dispatches queued runs to the node while there is room. One query reads what
// the rule needs; who is next is the rule's to say, so each run is written by itself.
func (s *Store) Admit(ctx context.Context, node string, caps solve.Caps) (admitted []solve.Run, err error) {
	err = s.update(ctx, func(t *tx) error {
		admitted = nil
		if err := t.assign(); err != nil {
			return err
		}
		if err := t.mustLive(node); err != nil {
			return err
		}
		queues, err := t.queues()
		if err != nil {
			return err
		}
		admitted, err = t.admit(queues, node, caps)
		return err
	})
	if err != nil {
		return nil, named(err, "admit runs to node", node)
	}
	return admitted, nil
}

// admit asks the rule for one run after another.
func (t *tx) admit(queues []queue, node string, caps solve.Caps) (admitted []solve.Run, err error) {
	list := make([]solve.Load, len(queues))
	for i := range queues {
		list[i] = queues[i].load
	}
	for i := solve.NextAdmission(list, caps, t.now()); i >= 0; i = solve.NextAdmission(list, caps, t.now()) {
		l, q := &list[i], &queues[i]
		after, err := solve.Admit(reader{t}, l.ID, l.N, node, t.now())
		switch {
		case errors.Is(err, solve.ErrTransition): // it was cancelled before it was locked
		case err != nil:
			return nil, err
		default:
			if err := t.write(after); err != nil {
				return nil, err
			}
			admitted = append(admitted, after.Run)
			l.Active++
		}
		q.queued = q.queued[1:]
		q.first(l)
	}
	return admitted, nil
}

// first sets the next queued run of a load.
func (q *queue) first(l *solve.Load) {
	l.Wave, l.N = 0, 0
	if len(q.queued) > 0 {
		l.Wave, l.N = int(q.queued[0]>>waveBits), int(q.queued[0]&solve.MaxRun)
	}
}

// queues are the running solves with their runs at work and in the queue.
func (t *tx) queues() ([]queue, error) {
	rows, err := t.db.Query(t.ctx, `select brief,
		(select count(*) from run where run.solve = solve.id and active),
		array(select wave << 16 | n from run where run.solve = solve.id and state = 'queued' order by wave, n)
		from solve where live and state = 'running' order by created, id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (q queue, err error) {
		var brief []byte
		if err = row.Scan(&brief, &q.load.Active, &q.queued); err == nil {
			err = json.Unmarshal(brief, &q.load.Brief)
		}
		q.first(&q.load)
		return q, err
	})
}
