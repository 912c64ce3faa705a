package sandboxes

import (
	"math"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// Recorder records the sandboxes that one piece of work opens, one after the other: where
// they are, how long they are open, and at what price.
type Recorder struct{ used []solve.SandboxUse }

// NewRecorder continues what was recorded before.
func NewRecorder(used []solve.SandboxUse) *Recorder { return &Recorder{used} }

func (r *Recorder) opened(d sandbox.Driver, sb sandbox.Sandbox, phase string) {
	place := PlaceOf(d, sb)
	r.used = append(r.used, solve.SandboxUse{
		Phase: phase, Driver: place.Driver, ID: place.ID, Hourly: solve.Money(math.Round(place.HourlyUSD * 1e6)), Opened: time.Now(),
	})
}

// Closed records that no sandbox is open any more.
func (r *Recorder) Closed() {
	now := time.Now()
	for i := range r.used {
		if r.used[i].Closed.IsZero() {
			r.used[i].Closed = now
		}
	}
}

// Used returns what was recorded.
func (r *Recorder) Used() []solve.SandboxUse { return slices.Clone(r.used) }
