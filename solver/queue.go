package solver

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

const (
	// placePause is the least time between two words to one waiting solve; who stands
	// further back than nearPlace hears less often, and behind lastPlace nothing: a
	// long queue must not use up what may be written in an hour.
	placePause, farPause = 10 * time.Second, time.Minute
	nearPlace, lastPlace = 5, 50
	// maxTold is how many are told at one look, so that telling holds up nobody's start.
	maxTold = 16
)

// board remembers when each waiting solve was told its place. Only dispatch uses it.
type board struct {
	told map[solve.ID]time.Time
}

// tellPlaces lets the solves that found no worker know where they stand. One that
// is claimed at once hears nothing: as long as there is a free seat nobody waits.
func (e *Engine) tellPlaces(ctx context.Context, live []solve.Solve) {
	if len(e.seats) < cap(e.seats) {
		return
	}
	now, told, n := time.Now(), map[solve.ID]time.Time{}, 0
	queue := solve.Queue(live)
	for i, s := range queue {
		place, pause := i+1, placePause
		if place > nearPlace {
			pause = farPause
		}
		last, before := e.board.told[s.ID]
		if before {
			told[s.ID] = last
		}
		silent := place > lastPlace || s.Place == place || s.Greeted.IsZero() || !s.CancelAt.IsZero()
		if silent || n == maxTold || before && now.Sub(last) < pause {
			continue
		}
		n++
		told[s.ID] = now
		_, _, err := e.Store.Apply(ctx, solve.Change{
			Solve: s.ID, Event: solve.PlaceTold{Place: place, Queue: len(queue)}, At: now,
		})
		if err != nil && !fault.Decided(err) { // it was claimed or ended meanwhile
			fault.Log(ctx, err, "place in the queue not stored")
		}
	}
	e.board.told = told
}
