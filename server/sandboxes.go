package server

import (
	"context"
	"errors"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/setup"
)

// openDrivers makes the sandbox drivers that the configuration uses, and tries each with
// a real sandbox.
func (s *Server) openDrivers(ctx context.Context) error {
	var err error
	if s.drivers, err = drivers.NewSet(s.cfg.Sandbox, s.log, s.metrics.driver); err != nil {
		return err
	}
	var problems []error
	for i, found := range setup.TryDrivers(ctx, s.drivers) {
		name := s.drivers.Used()[i]
		switch {
		case found == nil:
			for _, note := range s.drivers.All()[i].Traits().Notes {
				s.log.Warn().Str(logkey.Driver, name).Msg(note)
			}
		case setup.MustStop(s.cfg.Sandbox, name, found):
			problems = append(problems, found)
		default:
			s.log.Warn().Err(found).Str(logkey.Driver, name).Msg("a sandbox driver cannot be used now")
		}
	}
	return errors.Join(problems...)
}
