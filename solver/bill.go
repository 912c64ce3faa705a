package solver

import (
	"math"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// What a sandbox is for: its label, and what its stay is called.
const (
	phasePrepare = "prepare"
	phaseWork    = "work"
	phaseJudge   = "judge"
)

// bill notes the sandboxes that one piece of work opens, one after the other: where they
// are, how long they are open, and at what price.
type bill struct{ stays []solve.Stay }

// open notes a sandbox that was opened now.
func (b *bill) open(d sandbox.Driver, sb sandbox.Sandbox, phase string) {
	place := placeOf(d, sb)
	b.stays = append(b.stays, solve.Stay{
		Phase: phase, Driver: place.Driver, ID: place.ID, Hourly: solve.Money(math.Round(place.HourlyUSD * 1e6)), Opened: time.Now(),
	})
}

// close notes that no sandbox is open any more.
func (b *bill) close() {
	now := time.Now()
	for i := range b.stays {
		if b.stays[i].Closed.IsZero() {
			b.stays[i].Closed = now
		}
	}
}

// copied is the bill as it stands.
func (b *bill) copied() []solve.Stay { return slices.Clone(b.stays) }
