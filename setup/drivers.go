package setup

import (
	"context"
	"errors"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
)

// TryDrivers runs a sandbox in each driver that is used, all at once.
func TryDrivers(ctx context.Context, set *drivers.Set) []error {
	var all sync.WaitGroup
	found := make([]error, len(set.All()))
	for i, d := range set.All() {
		all.Go(func() { found[i] = d.Check(ctx) })
	}
	all.Wait()
	return found
}

// MustStop says whether a driver's problem is reason enough not to start: any of the
// default one, unless another takes over from it, and of the others what only a change
// of the settings mends. A provider that is away now may be there for the next solve.
func MustStop(c drivers.Config, name string, problem error) bool {
	passing := (errors.Is(problem, sandbox.ErrUnavailable) || errors.Is(problem, sandbox.ErrCapacity)) &&
		!errors.Is(problem, sandbox.ErrSetting)
	takesOver := c.Fallback != "" && c.Fallback != name
	return !passing || name == c.Driver && !takesOver
}
