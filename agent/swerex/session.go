package swerex

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// session is one shell. Its commands come one after the other; an interrupt may come
// in between.
type session struct {
	server  *Server
	id      string // its directory
	turn    sync.Mutex
	number  int64        // of the last command
	running atomic.Int64 // the number of the command that runs; 0 if the shell is free
}

const (
	// longestWait is how long one call waits at most.
	longestWait = time.Minute
	// shortestInterrupt is the least time that an interrupt gets, and what it gets if its client names none.
	shortestInterrupt = 200 * time.Millisecond
	forever           = 100 * 365 * 24 * time.Hour
	// interrupted is the exit code of a command that an interrupt ended.
	interrupted = 130
)

// duration is a number of seconds; nil and what is beyond reason is for ever.
func duration(seconds *float64) time.Duration {
	if seconds == nil || *seconds > forever.Seconds() {
		return forever
	}
	return time.Duration(*seconds * float64(time.Second))
}

func (s *Server) createSession(r createSession) (sessionOpened, error) {
	s.mu.Lock()
	_, exists := s.sessions[r.Session]
	one := &session{server: s, id: fmt.Sprintf("s%d", s.opened+1)}
	if !exists {
		s.opened++
		s.sessions[r.Session] = one
	}
	s.mu.Unlock()
	if exists {
		return sessionOpened{}, raise(classExists, "session %s already exists", r.Session)
	}
	err := s.launchShells()
	if err == nil {
		_, err = s.call(call{verb: "open", shell: one.id, patience: margin})
	}
	if err != nil {
		s.forget(r.Session)
		return sessionOpened{}, err
	}
	var source []string
	for _, path := range r.StartupSource {
		source = append(source, "source "+replacePaths(path))
	}
	if len(source) == 0 {
		return sessionOpened{SessionType: bash}, nil
	}
	timeout := cmp.Or(r.StartupTimeout, new(10.0)) // what SWE-agent asks for
	out, err := one.run(action{Command: strings.Join(source, " ; "), Timeout: timeout})
	return sessionOpened{Output: out.Output, SessionType: bash}, err
}

// find is the session of a name.
func (s *Server) find(name string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[name]
	if !ok {
		return nil, raise(classNoSession, "session %q does not exist", name)
	}
	return one, nil
}

func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, name)
}

func (s *Server) closeSession(r closeSession) (sessionClosed, error) {
	one, err := s.find(r.Session)
	if err != nil {
		return sessionClosed{}, err
	}
	s.forget(r.Session)
	_, err = s.call(call{verb: "close", shell: one.id, patience: margin})
	return sessionClosed{SessionType: bash}, err
}

// closeSessions ends all sessions; the endpoint stays.
func (s *Server) closeSessions(nothing) (nothing, error) {
	s.mu.Lock()
	names := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()
	for _, name := range names {
		if _, err := s.closeSession(closeSession{Session: name}); err != nil {
			return nothing{}, err
		}
	}
	return nothing{}, nil
}

func (s *Server) runInSession(a action) (observation, error) {
	one, err := s.find(a.Session)
	switch {
	case err != nil:
		return observation{}, err
	case a.Type == "bash_interrupt":
		return one.interrupt(a)
	case a.Quit || a.Interactive || len(a.Expect) > 0:
		return observation{}, raise(classAny, "this endpoint runs no interactive commands and expects no texts: SWE-agent needs neither")
	}
	a.Command = replacePaths(a.Command)
	out, err := one.run(a)
	if err == nil && a.Check == checkRaise && *out.ExitCode != 0 {
		err = nonZero(a.ErrorMsg, a.Command, *out.ExitCode, out.Output)
	}
	return out, err
}

// run gives the shell a command and waits for its end. If an earlier command still runs,
// it waits for that first.
func (one *session) run(a action) (observation, error) {
	one.turn.Lock()
	defer one.turn.Unlock()
	end := time.Now().Add(duration(a.Timeout))
	var out called
	var err error
	if old := one.running.Load(); old != 0 {
		out, err = one.follow(call{verb: "wait", number: old}, end)
	}
	if err == nil && out.state != stateRunning {
		one.number++
		one.running.Store(one.number)
		out, err = one.follow(call{verb: "run", number: one.number, input: a.Command}, end)
	}
	switch {
	case err != nil:
		return observation{}, err
	case out.state == stateRunning:
		return observation{}, raise(classTimeout, "timeout after %v while running command %q", duration(a.Timeout), a.Command)
	}
	o := observation{Output: shown(out.output), ExpectString: prompt, SessionType: bash}
	if a.Check != checkIgnore {
		o.ExitCode = &out.code
	}
	return o, nil
}

// follow makes a call and waits until the command ends or the time is over: then its state
// is stateRunning.
func (one *session) follow(c call, end time.Time) (called, error) {
	c.shell = one.id
	for {
		c.patience = max(0, min(time.Until(end), longestWait))
		out, err := one.server.call(c)
		switch {
		case err != nil:
			return out, err
		case out.state == stateDead:
			return out, raise(classAny, "the shell has ended with exit code %d. Its output:\n%s", out.code, shown(out.output))
		case out.state != stateRunning:
			one.running.CompareAndSwap(c.number, 0)
			if out.state == stateSyntax {
				return out, wrongSyntax(c.input, out)
			}
			return out, nil
		case !time.Now().Before(end):
			return out, nil
		}
		c.verb, c.input = "wait", ""
	}
}

// wrongSyntax is the exception for a command that bash cannot read. SWE-agent shows the model its extra.
func wrongSyntax(command string, out called) error {
	e := raise(classSyntax, "Error (exit code %d) while checking bash command %q:\n%s", out.code, command, out.syntax)
	e.extra = map[string]any{"bash_stdout": "", "bash_stderr": out.syntax}
	return e
}

// interrupt ends the command that runs: first as the keys would, then by force.
func (one *session) interrupt(a action) (observation, error) {
	o := observation{ExitCode: new(int), ExpectString: prompt, SessionType: bash}
	retries := max(a.Retries, 0)
	for try := range retries + 2 {
		number := one.running.Load()
		if number == 0 {
			return o, nil
		}
		c, patience := call{verb: "interrupt", number: number}, max(duration(cmp.Or(a.Timeout, new(0.0))), shortestInterrupt)
		if try >= retries {
			c.verb, patience = "kill", time.Second
		}
		out, err := one.follow(c, time.Now().Add(patience))
		if err != nil {
			return observation{}, err
		}
		if out.state != stateRunning {
			o.Output = strings.TrimSpace(shown(out.output))
			return o, nil
		}
	}
	return observation{}, raise(classAny, "the command could not be interrupted")
}
