package swerex

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// session is one shell. Its commands come one after the other; an interrupt may come
// in between.
type session struct {
	server *Server
	id     string // its directory
	turn   sync.Mutex

	mu      sync.Mutex
	number  int // of the last command
	running int // the number of the command that runs; 0 if the shell is free
}

const (
	// slice is how long one call waits at most.
	slice = time.Minute
	// shortest is the least time that an interrupt gets.
	shortest = 200 * time.Millisecond
	forever  = 100 * 365 * 24 * time.Hour
)

// seconds is a duration; nil and what is beyond reason is for ever.
func seconds(f *float64) time.Duration {
	switch {
	case f == nil || *f > forever.Seconds():
		return forever
	case !(*f > 0): // NaN, too
		return 0
	}
	return time.Duration(*f * float64(time.Second))
}

// createSession serves /create_session.
func (s *Server) createSession(r createSession) (any, error) {
	s.mu.Lock()
	if _, ok := s.sessions[r.Session]; ok {
		s.mu.Unlock()
		return nil, raise(classExists, "session "+r.Session+" already exists")
	}
	s.opened++
	one := &session{server: s, id: fmt.Sprintf("s%d", s.opened)}
	s.sessions[r.Session] = one
	s.mu.Unlock()
	err := s.shells.start(s.life, s.box, s.options)
	if err == nil {
		_, err = s.call(call{verb: "open", shell: one.id, patience: margin})
	}
	if err != nil {
		s.forget(r.Session)
		return nil, err
	}
	var source []string
	for _, path := range r.StartupSource {
		source = append(source, "source "+s.paths.text(path))
	}
	if len(source) == 0 {
		return sessionOpened{SessionType: "bash"}, nil
	}
	text := strings.Join(source, " ; ")
	out, err := one.run(bashAction{Command: &text, Timeout: &r.StartupTimeout, Check: checkSilent})
	if isClass(err, classTimeout) {
		return nil, raise(classPatience, "Timeout exceeded.")
	}
	return sessionOpened{Output: out.Output, SessionType: "bash"}, err
}

// find is the session of a name.
func (s *Server) find(name string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[name]
	if !ok {
		return nil, raise(classNoSession, "session "+repr(name)+" does not exist")
	}
	return one, nil
}

func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, name)
}

// closeSession serves /close_session.
func (s *Server) closeSession(r closeSession) (any, error) {
	one, err := s.find(r.Session)
	if err != nil {
		return nil, err
	}
	s.forget(r.Session)
	_, err = s.call(call{verb: "close", shell: one.id, patience: margin})
	return sessionClosed{SessionType: "bash"}, err
}

// closeAll serves /close: all sessions end, the endpoint stays.
func (s *Server) closeAll() (any, error) {
	s.mu.Lock()
	all := s.sessions
	s.sessions = make(map[string]*session)
	s.mu.Unlock()
	for _, one := range all {
		if _, err := s.call(call{verb: "close", shell: one.id, patience: margin}); err != nil {
			return nil, err
		}
	}
	return nothing{}, nil
}

// run serves a bash action.
func (s *Server) run(a bashAction) (any, error) {
	one, err := s.find(a.Session)
	if err != nil {
		return nil, err
	}
	text := s.paths.text(*a.Command)
	a.Command = &text
	out, err := one.run(a)
	if err != nil {
		return nil, err
	}
	if a.Check == checkRaise && out.ExitCode != nil && *out.ExitCode != 0 {
		return nil, nonZero(a.ErrorMsg, fmt.Sprintf("Command %s failed with exit code %d. Here is the output:\n%s", repr(text), *out.ExitCode, repr(out.Output)))
	}
	return out, nil
}

func nonZero(first, message string) error {
	if first != "" {
		message = first + ": " + message
	}
	return raise(classNonZero, message)
}

// run gives the shell a command and waits for its end. If an earlier command still runs,
// it waits for that first.
func (one *session) run(a bashAction) (observation, error) {
	one.turn.Lock()
	defer one.turn.Unlock()
	end := time.Now().Add(seconds(a.Timeout))
	if old := one.busy(); old != 0 {
		out, err := one.wait(call{verb: "wait"}, old, end)
		if err != nil {
			return observation{}, err
		}
		if !out.ended {
			return observation{}, timeout(a)
		}
	}
	out, err := one.wait(call{verb: "run", input: *a.Command}, one.next(), end)
	switch {
	case err != nil:
		return observation{}, err
	case !out.ended:
		return observation{}, timeout(a)
	}
	o := observation{Output: shown(out.output), ExpectString: prompt, SessionType: "bash"}
	if a.Check != checkIgnore {
		o.ExitCode = &out.code
	}
	return o, nil
}

// interrupt serves a bash_interrupt action: first as the keys would, then by force.
func (s *Server) interrupt(a interruptAction) (any, error) {
	one, err := s.find(a.Session)
	if err != nil {
		return nil, err
	}
	o := observation{ExitCode: new(int), ExpectString: prompt, SessionType: "bash"}
	for try := range max(a.Retries, 0) + 2 {
		number := one.busy()
		if number == 0 {
			return o, nil
		}
		c, patience := call{verb: "interrupt"}, max(seconds(&a.Timeout), shortest)
		if try >= max(a.Retries, 0) {
			c.verb, patience = "kill", time.Second
		}
		out, err := one.wait(c, number, time.Now().Add(patience))
		if err != nil {
			return nil, err
		}
		if out.ended {
			o.Output = strings.TrimSpace(shown(out.output))
			return o, nil
		}
	}
	return nil, raise(classPatience, "Failed to interrupt session")
}

func timeout(a bashAction) error {
	return raise(classTimeout, fmt.Sprintf("timeout after %s seconds while running command %s", number(a.Timeout), repr(*a.Command)))
}
