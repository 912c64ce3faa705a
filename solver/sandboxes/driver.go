package sandboxes

import (
	"fmt"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// Drivers are the sandbox drivers of a process.
type Drivers interface {
	// Of is the driver that a solve pinned by that name, the default for ""; false if
	// there is none.
	Of(name string) (sandbox.Driver, bool)
	// Names are those that a solve may choose, the default first.
	Names() []string
	// All are all there are, each once.
	All() []sandbox.Driver
}

// DriverOf is the driver that the solve was planned with.
func DriverOf(drivers Drivers, s solve.Solve) (sandbox.Driver, error) {
	d, ok := drivers.Of(s.Plan.Sandbox)
	if !ok {
		return nil, fault.Refusal{Final: true, Text: fmt.Sprintf("The sandbox driver %q, with which this solve was planned, "+
			"is not configured any more. Name it in sandbox.choices, or ask for a new solve.", s.Plan.Sandbox)}
	}
	return d, nil
}

// Forks says whether one prepared sandbox becomes many.
func Forks(d sandbox.Driver) bool {
	_, ok := d.(sandbox.Forker)
	return ok && d.Traits().Fork
}

// PlaceOf is where a sandbox is: of several drivers that stand for one, the right one.
func PlaceOf(d sandbox.Driver, sb sandbox.Sandbox) sandbox.Place {
	if p, ok := sandbox.As[sandbox.Placed](sb); ok {
		return p.Place()
	}
	return sandbox.Place{Driver: d.Traits().Name}
}
