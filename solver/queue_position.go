package solver

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

const (
	// nearPause is the least time between two reports to one waiting solve. Behind
	// nearPosition reports are rarer, and behind lastPosition there are none: a long
	// queue must not use up what may be written in an hour.
	nearPause, farPause        = 10 * time.Second, time.Minute
	nearPosition, lastPosition = 5, 50
	// maxReports is how many are reported at one look, so that no start waits for it.
	maxReports = 16
)

// reportPositions tells the solves that found no worker their positions in the queue. As
// long as a slot is free, nobody waits.
func (e *Engine) reportPositions(ctx context.Context, live []solve.Solve) {
	if len(e.slots) < cap(e.slots) {
		return
	}
	now, reported, n := time.Now(), map[solve.ID]time.Time{}, 0
	queue := solve.Queue(live)
	for i, s := range queue {
		position, pause := i+1, nearPause
		if position > nearPosition {
			pause = farPause
		}
		last, before := e.reported[s.ID]
		if before {
			reported[s.ID] = last
		}
		silent := position > lastPosition || s.Place == position || s.Greeted.IsZero() || !s.CancelAt.IsZero()
		if silent || n == maxReports || before && now.Sub(last) < pause {
			continue
		}
		n++
		reported[s.ID] = now
		_, _, err := e.store.Store.Apply(ctx, solve.Change{
			Solve: s.ID, Event: solve.PlaceTold{Place: position, Queue: len(queue)},
		})
		if err != nil && !fault.Decided(err) { // it was claimed or ended meanwhile
			fault.Log(ctx, err, "position in the queue not stored")
		}
	}
	e.reported = reported
}
