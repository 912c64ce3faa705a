package drivers

import (
	"errors"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
)

// Set holds the drivers that a configuration uses.
type Set struct {
	offered []string
	used    []string
	made    map[string]sandbox.Driver // each by itself
	of      map[string]sandbox.Driver // as solves use them: with what takes over
}

// NewSet makes every driver that is used, and reports all that cannot be made. wrap is
// put around each; nil leaves them as they are.
func NewSet(c Config, log zerolog.Logger, wrap func(sandbox.Driver) sandbox.Driver) (*Set, error) {
	s := &Set{offered: c.Offered(), used: c.Used(), made: map[string]sandbox.Driver{}, of: map[string]sandbox.Driver{}}
	var problems []error
	for _, name := range s.used {
		d, err := c.open(name, log)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if wrap != nil {
			d = wrap(d)
		}
		s.made[name] = d
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for name, d := range s.made {
		s.of[name] = d
		if c.Fallback != "" && name != c.Fallback {
			s.of[name] = WithFallback(d, s.made[c.Fallback], log)
		}
	}
	return s, nil
}

// Of is the driver of that name with what takes over from it, the default for "";
// false if it is not used.
func (s *Set) Of(name string) (sandbox.Driver, bool) {
	if name == "" {
		name = s.offered[0]
	}
	d, ok := s.of[name]
	return d, ok
}

// Names are the drivers that a solve may choose, the default first.
func (s *Set) Names() []string { return s.offered }

// Used names all drivers, the default first.
func (s *Set) Used() []string { return s.used }

// All are all drivers, each once and by itself, in the order of Used.
func (s *Set) All() []sandbox.Driver {
	var all []sandbox.Driver
	for _, name := range s.used {
		all = append(all, s.made[name])
	}
	return all
}
