package server

import (
	"context"
	"errors"
	"sync"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
)

// openDrivers makes the sandbox drivers that the configuration uses, and tries each with
// a real sandbox.
func (s *Server) openDrivers(ctx context.Context) error {
	var err error
	if s.drivers, err = drivers.NewSet(s.cfg.Sandbox, s.log, s.metrics.driver); err != nil {
		return err
	}
	var problems []error
	for i, found := range tryDrivers(ctx, s.drivers) {
		name := s.drivers.Used()[i]
		switch {
		case found == nil:
			for _, note := range s.drivers.All()[i].Traits().Notes {
				s.log.Warn().Str(logkey.Driver, name).Msg(note)
			}
		case s.cfg.stops(name, found):
			problems = append(problems, found)
		default:
			s.log.Warn().Err(found).Str(logkey.Driver, name).Msg("a sandbox driver cannot be used now")
		}
	}
	return errors.Join(problems...)
}

// tryDrivers runs a sandbox in each driver that is used, all at once.
func tryDrivers(ctx context.Context, set *drivers.Set) []error {
	var all sync.WaitGroup
	found := make([]error, len(set.All()))
	for i, d := range set.All() {
		all.Go(func() { found[i] = d.Check(ctx) })
	}
	all.Wait()
	return found
}

// stops says whether a driver's problem is reason enough not to start: any of the
// default one, unless another takes over from it, and of the others what only a change
// of the settings mends. A provider that is away now may be there for the next solve.
func (c Config) stops(name string, problem error) bool {
	passing := (errors.Is(problem, sandbox.ErrUnavailable) || errors.Is(problem, sandbox.ErrCapacity)) && !errors.Is(problem, sandbox.ErrSetting)
	takesOver := c.Sandbox.Fallback != "" && c.Sandbox.Fallback != name
	return !passing || name == c.Sandbox.Driver && !takesOver
}
